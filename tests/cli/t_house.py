# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/house that hold the tree to a list find what is new."""
import os
import sys
import tempfile

from heldup_cli import TOP

sys.path.insert(0, os.path.join(TOP, "tests", "house"))
import house_rooms  # noqa: E402
import house_words  # noqa: E402
import known        # noqa: E402


def test_house_circles_are_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"g"},
             "g": {"f"}}
    assert house_rooms.circles(edges) == [["a", "b", "c"], ["f", "g"]]
    files = {"src/x/a.c": '#include "x/b.h"\n', "src/x/b.h": "", "src/x/b.c": '#include "y/c.h"\n',
             "src/y/c.h": '#include "x/a.h"\n', "src/x/a.h": ""}
    assert house_rooms.folder_circles(files).found == {"src/x": 1, "src/y": 1}
    assert not house_rooms.include_circles(files).found
    files["src/x/b.h"] = '#include "x/a.h"\n'
    assert house_rooms.include_circles(files).found == {"src/x": 2}


def test_house_list_of_what_is_known_only_shrinks():
    counts = known.Counts({"a": 3, "b": 1}, "too large")
    assert known.judge("size", counts, {("size", "a"): 3, ("size", "b"): 1})[0] == []
    more = known.judge("size", counts, {("size", "a"): 2, ("other", "b"): 9})[0]
    assert [line.split(":")[0] for line in more] == ["a", "b"], more
    path = known.PATH
    with tempfile.TemporaryDirectory(prefix="heldup-cli-") as folder:
        try:
            known.PATH = os.path.join(folder, "known.txt")
            fewer = known.prune({"size": counts}, {("size", "a"): 5, ("size", "gone"): 1})
            assert fewer == 1 and known.load() == {("size", "a"): 3}, known.load()
        finally:
            known.PATH = path


def test_house_words_are_found_in_strings_comments_and_documents():
    files = {house_words.GLOSSARY: "| inferred | not seen | `told`, `by turns` |\n",
             "src/a.c": 'int told; /* told by\n * turns */ char *s = "told";\n/* Of it. */\n',
             "docs/x.md": "It is told.\n", "tests/a.c": "/* told */\n"}
    assert house_words.forbidden_words(files).found == {"told": 3, "by turns": 1}
    assert house_words.comment_openers(files).found == {"Of": 1}


def test_house_subjects_begin_with_a_verb():
    for subject in ("waits: name the holder of a lock", "base, cli: move files into rooms"):
        assert not house_words.subject_error(subject), subject
    for subject in ("waits: the holder is named", "name the holder", "waits: Name the holder",
                    "waits: name " + "the holder of a lock " * 4):
        assert house_words.subject_error(subject), subject


def test_house_readme_of_a_folder_lists_its_files():
    files = {"src/x/a.c": "", "src/x/a.h": "", "src/x/README.md": "`a.c` and `gone.c`\n",
             "src/y/b.c": ""}
    counts = house_rooms.folder_readmes(files)
    assert counts.found == {"src/y": 1}
    assert counts.errors == ["src/x/README.md: no file gone.c"], counts.errors
    files["src/x/c.c"] = ""
    files["src/x/README.md"] = "`a.c`\n" * 41
    assert len(house_rooms.folder_readmes(files).errors) == 2


def test_house_wants_seeds_for_each_fuzz_target():
    have = "tests/fuzz/%s.c" % sorted(os.listdir(house_rooms.TOP + "/tests/fuzz/corpus"))[0]
    assert house_rooms.fuzz_seeds({have: ""}) == []
    assert house_rooms.fuzz_seeds({have: "", "tests/fuzz/fuzz_none.c": ""}) == [
        "tests/fuzz/fuzz_none.c: no seeds in tests/fuzz/corpus/fuzz_none"]

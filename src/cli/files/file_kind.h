/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_KIND_H
#define FILE_KIND_H
/*
 * What a file is that a command was given and could not read, by its
 * beginning, and which command does read it.
 */
struct err;
struct source;

enum file_kind {
	FILE_OTHER = 0,	 /* none of those below */
	FILE_CAPTURE,	 /* of heldup record */
	FILE_CALLS,	 /* a trace of strace, perf or LTTng */
	FILE_SPANS,	 /* recorded requests */
	FILE_PATHS,	 /* of heldup requests --record */
	FILE_FOREST,	 /* of heldup replay --forest */
	FILE_SPACE,	 /* of heldup replay --space */
	FILE_SIGNATURES, /* of heldup learn */
	FILE_ANSWER,	 /* JSON that heldup printed */
	FILE_KIND_CNT
};

/*
 * err: why path could not be read as what was wanted.  Where it is of another
 * kind the message becomes that kind and the command for it.  Returns err's code.
 */
int file_kind_say(const char *path, enum file_kind wanted, struct err *err);

/* source_file, with the words of file_kind_say on failure. */
int file_kind_source(const char *path, struct source **ret_src, struct err *err);

#endif /* FILE_KIND_H */

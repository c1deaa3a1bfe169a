/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPT_H
#define OPT_H
/*
 * Options as tables.  A command has a struct for its options and a table that
 * says which option fills which member; parsing, -h, the errors and the
 * documentation test all come from the table.  Groups are tables that several
 * commands share (select_opts.h, options.h).
 *
 *	struct why_opts { struct select_opts select; uint64_t window_ns; };
 *	static const struct opt why_opts[] = {
 *		OPT_GROUP(select_opt_table, struct why_opts, select),
 *		{.type = OPT_DURATION, .short_name = 'd', .long_name = "duration",
 *		 .metavar = "TIME", .help = "watch for so long", .def = "10s",
 *		 OPT_AT(struct why_opts, window_ns)},
 *		OPT_END,
 *	};
 */
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct err;

enum opt_type {
	OPT_TYPE_END = 0,
	OPT_FLAG,	/* bool */
	OPT_STRING,	/* const char * */
	OPT_DURATION,	/* uint64_t, nanoseconds */
	OPT_INT,	/* int64_t, from min to max */
	OPT_LIST,	/* struct opt_list: split at commas, may be repeated */
	OPT_CHOICE,	/* int, index into choices */
	OPT_CUSTOM,	/* parse() fills it; may be repeated */
	OPT_COMMAND,	/* char **, what stands after --; NULL when nothing does */
	OPT_TYPE_GROUP, /* the options of another table, off is added to theirs */
};

#define OPT_HELP_MAX 60 /* characters of a help text, held by tests/unit/t_opt.c */

struct opt_list {
	const char **items;
	size_t cnt;
};

struct opt {
	enum opt_type type;
	char short_name;       /* 0 for none */
	const char *long_name; /* without --, NULL for none */
	const char *metavar;   /* "FILE"; NULL for a flag */
	const char *help;      /* an imperative, lower case, no full stop; see OPT_HELP_MAX */
	const char *def;       /* parsed before the command line and shown in the help */
	size_t off;
	const char *const *choices; /* OPT_CHOICE, ends with NULL */
	int64_t min, max;	    /* OPT_INT, OPT_DURATION; both 0: any */
	int (*parse)(void *dst, const char *text, struct arena *arena, struct err *err);
	const struct opt *group;
};

#define OPT_AT(opts_type, member) .off = offsetof(opts_type, member)
#define OPT_GROUP(table, opts_type, member)                      \
	{                                                        \
		.type = OPT_TYPE_GROUP, .group = (table),        \
		.off = offsetof(opts_type, member),              \
	}
#define OPT_END               \
	{                     \
		.type = OPT_TYPE_END, \
	}

struct opt_parse {
	struct arena *arena; /* lists and copies live here */
	void *opts;	     /* zeroed by the caller */
	int argc;	     /* out: what is no option, in order; argv[argc] is NULL */
	char **argv;
};

/*
 * Fills p->opts from args (without the program's and the command's name).
 * Options and other arguments may be mixed; "--" ends the options.  Strings
 * are borrowed from args.  -EINVAL with a line for the user on anything wrong.
 */
int opt_parse(const struct opt *table, struct opt_parse *p, char **args, struct err *err);

/* The options in the order of -h. */
void opt_each(const struct opt *table, void (*each)(void *ctx, const struct opt *o), void *ctx);

/*
 * The option lines of -h, and of the documentation's table, in lines of at most columns
 * (0: 80); where that is too little for two columns, the texts stand below the options.
 */
void opt_help(const struct opt *table, unsigned columns, struct buf *out);

#endif /* OPT_H */

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DISPATCH_H
#define DISPATCH_H
/*
 * Runs a command: parses its options, gives away the rights that it does not need,
 * answers -h and --json-schema.
 */
struct cmd;

/* Parses args (after the command's name), then runs; an enum cli_exit. */
int cmd_run(const struct cmd *cmd, char **args);

#endif /* DISPATCH_H */

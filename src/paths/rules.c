/* SPDX-License-Identifier: Apache-2.0 */
#include "paths/rules.h"

const struct call_rule_def call_rules[PATH_RULE_CNT] = {
	[PATH_RULE_NONE] = {.name = "unknown"},
	[PATH_RULE_THREAD] = {.name = "thread"},
	[PATH_RULE_FINISH] = {.name = "finish"},
	[PATH_RULE_RESULT] = {.name = "result"},
	[PATH_RULE_ANSWER] = {.name = "answer", .gated = true},
	[PATH_RULE_READ] = {.name = "read", .gated = true},
	[PATH_RULE_NEXT] = {.name = "next", .gated = true},
	[PATH_RULE_IDLE] = {.name = "idle", .gated = true},
	[PATH_RULE_ONLY] = {.name = "only", .gated = true},
	[PATH_RULE_SIBLING] = {.name = "sibling", .gated = true, .likely = true},
};

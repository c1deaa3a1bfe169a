/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BANNED_H
#define BANNED_H
/*
 * Functions that this project does not call, since each has a bound or an
 * error that the caller cannot see.  Included before every source file by the
 * Makefile, so that the compiler refuses them; the headers that declare them
 * come first, or their own declarations would be refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BANNED(func) sorry_##func##_is_a_banned_function

#undef strcpy
#define strcpy(x, y) BANNED(strcpy)
#undef strcat
#define strcat(x, y) BANNED(strcat)
#undef strncpy
#define strncpy(x, y, n) BANNED(strncpy)
#undef strncat
#define strncat(x, y, n) BANNED(strncat)
#undef strtok
#define strtok(x, y) BANNED(strtok)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef atoi
#define atoi(x) BANNED(atoi)
#undef atol
#define atol(x) BANNED(atol)
#undef atoll
#define atoll(x) BANNED(atoll)
#undef atof
#define atof(x) BANNED(atof)
#undef alloca
#define alloca(n) BANNED(alloca)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
#undef ctime
#define ctime(t) BANNED(ctime)
#undef asctime
#define asctime(t) BANNED(asctime)
#undef mktemp
#define mktemp(x) BANNED(mktemp)
#undef tmpnam
#define tmpnam(x) BANNED(tmpnam)

#endif /* BANNED_H */

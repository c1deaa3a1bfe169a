/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/sequential.h"

#include <math.h>

double sequential_alpha(double alpha, uint32_t look)
{
	double n = look ? look : 1;

	return alpha * 6 / (M_PI * M_PI * n * n);
}

double sequential_p(double value, double error)
{
	if (!isfinite(error) || error < 0)
		return 1;
	if (error == 0)
		return value > 0 ? 0 : 1;
	return 0.5 * erfc(value / error / M_SQRT2);
}

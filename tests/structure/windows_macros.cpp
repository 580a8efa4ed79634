// SPDX-License-Identifier: MIT
//
// What a program is like that includes <windows.h> first and does not define NOMINMAX: `min` and `max` are macros. The
// standard's and the foreign headers come before, since some of these do not bear it.
#include "foreign_headers.hpp"

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))

#if defined(ZTENSOR_COMPILED)
#include <ztensor/compiled.hpp>
#endif
#include <ztensor/dlpack.hpp>
#include <ztensor/formatter.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/ztensor.hpp>

int main() {
}

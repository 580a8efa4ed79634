// SPDX-License-Identifier: MIT
//
// The compiled library as one source, for whoever wants one: CMake builds those in cmake/compiled/, each of which needs half
// of the compiler's memory. ZTENSOR_COMPILED must be defined for it and for all that uses the library.
#include <ztensor/compiled.hpp>

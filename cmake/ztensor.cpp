// SPDX-License-Identifier: MIT
//
// The only source file of ztensor::compiled, which defines ZTENSOR_COMPILED for it and for whoever links to it.
#include <ztensor/compiled.hpp>

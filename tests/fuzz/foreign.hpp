// SPDX-License-Identifier: MIT
//
// Any bytes as a file of another format: refused with a sentence, or opened, and then everything in it can be asked
// for.
#ifndef ZTENSOR_TESTS_FUZZ_FOREIGN_HPP
#define ZTENSOR_TESTS_FUZZ_FOREIGN_HPP

#include <ztensor/span.hpp>

namespace fuzzing {

/// `name` is what the file is called, such as "x.npz".
void try_foreign(ztensor::bytes_view input, const char* name);

} // namespace fuzzing

#endif

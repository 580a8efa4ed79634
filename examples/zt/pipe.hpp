// SPDX-License-Identifier: MIT
//
// Temporary files, which go with the program. Pipes as input become one: a tensor file is read from its end.
#ifndef ZTENSOR_EXAMPLES_ZT_PIPE_HPP
#define ZTENSOR_EXAMPLES_ZT_PIPE_HPP

#include <string>

namespace zt {

/// The path itself; of a pipe (a FIFO, /dev/stdin behind another program, what a shell makes of <(...)) that of a
/// temporary file with all that came out of it, which goes with the program. Throws std::runtime_error.
std::string file_behind(const std::string& path);

/// The name of a file that is not there yet, in a folder that goes with the program. Throws std::runtime_error.
std::string temporary_file();

} // namespace zt

#endif

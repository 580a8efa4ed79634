// SPDX-License-Identifier: MIT
//
// Temporary files, which go with the program. Pipes as input become one: a tensor file is read from its end.
#ifndef ZTENSOR_EXAMPLES_ZT_PIPE_HPP
#define ZTENSOR_EXAMPLES_ZT_PIPE_HPP

#include <string>

namespace zt {

/// A FIFO, /dev/stdin behind another program, or what a shell makes of <(...).
bool is_pipe(const std::string& path);

/// The path itself; of a pipe that of a temporary file with all that came out of it, which goes with the program: the
/// same at every call, for nothing comes out twice. Throws std::runtime_error.
std::string file_behind(const std::string& path);

/// The text with the paths of pipes in place of those of their temporary files.
std::string with_paths_of_pipes(std::string text);

/// The path of a file of that name that is not there yet, in a folder that goes with the program. Throws
/// std::runtime_error.
std::string temporary_file(const std::string& name);

} // namespace zt

#endif

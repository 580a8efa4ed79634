// SPDX-License-Identifier: MIT
//
// PyTorch's checkpoints and NumPy's archives.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/import.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/import/archives_definitions.hpp>

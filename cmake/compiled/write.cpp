// SPDX-License-Identifier: MIT
//
// New files, and models of many.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/digest.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/sharded_writer.hpp>
#include <ztensor/writer.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/write/sharded_definitions.hpp>
#include <ztensor/detail/write/writer_definitions.hpp>

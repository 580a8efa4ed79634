// SPDX-License-Identifier: MIT
//
// All that .zt files take, in the order of its ranks. json.hpp is among it where nlohmann/json is installed. Files of
// other formats, and folders and indices, have a header of their own: import.hpp.
#ifndef ZTENSOR_ZTENSOR_HPP
#define ZTENSOR_ZTENSOR_HPP

/// \namespace ztensor
/// The library: its classes, free functions and enumerations.

#include <ztensor/version.hpp>

#include <ztensor/fwd.hpp>
#include <ztensor/span.hpp>

#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <ztensor/dtype.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/shape.hpp>

#include <ztensor/array.hpp>
#include <ztensor/attributes.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/io.hpp>
#include <ztensor/readable.hpp>
#include <ztensor/tensor.hpp>

#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>

#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <ztensor/copy.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/sharded_writer.hpp>
#if __has_include(<nlohmann/json.hpp>)
#include <ztensor/json.hpp>
#endif

#endif

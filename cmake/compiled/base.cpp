// SPDX-License-Identifier: MIT
//
// Errors, shapes, attributes, digests and threads.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/array.hpp>
#include <ztensor/attributes.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/base/error_definitions.hpp>
#include <ztensor/detail/cbor/attributes_definitions.hpp>
#include <ztensor/detail/codec/digest_definitions.hpp>
#include <ztensor/detail/os/resources_definitions.hpp>

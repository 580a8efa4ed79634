// SPDX-License-Identifier: MIT
//
// The objects of an open file, and all ways to their elements.
#include "export.hpp"

ZTENSOR_EXPORT_BEGIN
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/sparse.hpp>
ZTENSOR_EXPORT_END

#include <ztensor/detail/read/blob_part_definitions.hpp>
#include <ztensor/detail/read/component_definitions.hpp>
#include <ztensor/detail/read/load_plan_definitions.hpp>
#include <ztensor/detail/read/object_definitions.hpp>
#include <ztensor/detail/read/pieces_definitions.hpp>
#include <ztensor/detail/read/quantized_definitions.hpp>
#include <ztensor/detail/read/sparse_definitions.hpp>

// SPDX-License-Identifier: MIT
//
// Compiled mode: every definition of the library, for one file of the program. That file, and all that use the library,
// define ZTENSOR_COMPILED; with CMake the target ztensor::compiled does both.
#ifndef ZTENSOR_COMPILED_HPP
#define ZTENSOR_COMPILED_HPP

#if !defined(ZTENSOR_COMPILED)
#error "Define ZTENSOR_COMPILED in every file that uses ztensor, and include <ztensor/compiled.hpp> in one of them"
#endif

#include <ztensor/detail/base/error_definitions.hpp>
#include <ztensor/detail/cbor/attributes_definitions.hpp>
#include <ztensor/detail/codec/digest_definitions.hpp>
#include <ztensor/detail/import/archives_definitions.hpp>
#include <ztensor/detail/import/folder_definitions.hpp>
#include <ztensor/detail/import/import_definitions.hpp>
#include <ztensor/detail/import/safetensors_definitions.hpp>
#include <ztensor/detail/os/resources_definitions.hpp>
#include <ztensor/detail/read/blob_part_definitions.hpp>
#include <ztensor/detail/read/component_definitions.hpp>
#include <ztensor/detail/read/lint_definitions.hpp>
#include <ztensor/detail/read/load_plan_definitions.hpp>
#include <ztensor/detail/read/object_definitions.hpp>
#include <ztensor/detail/read/pieces_definitions.hpp>
#include <ztensor/detail/read/quantized_definitions.hpp>
#include <ztensor/detail/read/reader_definitions.hpp>
#include <ztensor/detail/read/sparse_definitions.hpp>
#include <ztensor/detail/transfer/copy_definitions.hpp>
#include <ztensor/detail/transfer/export_definitions.hpp>
#include <ztensor/detail/write/edit_definitions.hpp>
#include <ztensor/detail/write/sharded_definitions.hpp>
#include <ztensor/detail/write/writer_definitions.hpp>

#endif

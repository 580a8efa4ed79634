// SPDX-License-Identifier: MIT
//
// The library's classes by name, for headers that only pass them on. (`ztensor::shape` and its like are cheap to
// include whole.)
#ifndef ZTENSOR_FWD_HPP
#define ZTENSOR_FWD_HPP

#include <ztensor/version.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {

enum class errc : std::uint8_t;
enum class error_kind : std::uint8_t;
enum class dtype : std::uint8_t;
enum class format : std::uint8_t;
enum class encoding : std::uint8_t;
enum class digest : std::uint8_t;
enum class digest_state : std::uint8_t;
enum class logical_type : std::uint8_t;
enum class version : std::uint8_t;
enum class container_kind : std::uint8_t;
enum class io_mode : std::uint8_t;
enum class format_version : std::uint8_t;
enum class publish_mode : std::uint8_t;
enum class attribute_kind : std::uint8_t;
enum class lint_kind : std::uint8_t;
enum class sync_level : std::uint8_t;
enum class recovery : std::uint8_t;

class error;
class unexpected;
class exception;
template <class T>
class result;

template <class T>
class span;
template <class T>
class array;
template <class T>
class tensor;
template <class Enum>
class open_word;
class shape;
class expected_shape;
class file_path;
class attributes;
class attributes_view;
class attribute_value;
class object_attributes;
class byte_source;
class byte_sink;

class file_index;
class reader;
class object_view;
class component_view;
class selection;
class component_pieces;
template <class T, class Index>
class csr_view;
template <class T, class Index>
class coo_view;
class quantized_view;
class packed_view;
class load_plan;
class executor;

class writer;
class sharded_writer;
class tensor_stream;
class editor;
class object_draft;

struct read_options;
struct write_options;
struct store;
struct copy_options;
struct export_options;
struct load_options;
struct load_report;
struct quantization;
struct verification;
struct lint_finding;

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

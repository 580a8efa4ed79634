// SPDX-License-Identifier: MIT
//
// A component's elements one piece after the other, for what is larger than memory: to convert, compare or count them.
// SPEC.md section 6.
#ifndef ZTENSOR_PIECES_HPP
#define ZTENSOR_PIECES_HPP

#include <ztensor/dtype.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <memory>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

class piece_reader;

struct piece_deleter {
    void operator()(piece_reader* pieces) const noexcept;
};

} // namespace detail

/// Goes through the decoded bytes of a component from the first to the last, in memory of a few MiB whatever the size
/// of the component. The reader that the component is of must outlive it. Belongs to one thread at a time.
///
/// What was stored is checked as read() does: the digest once all of it has gone by, so that only the empty piece at
/// the end says that the pieces before it were what the file promises.
class component_pieces {
public:
    /// Elements as they are stored, least significant byte first whatever the file's order; bools are 0 or 1.
    /// Errors: unsupported_encoding, out_of_memory; of big-endian bytes unknown_dtype (of no known width),
    /// needs_byteswap (of another layout than dense), size_mismatch (no whole elements).
    static result<component_pieces> open(const component_view& from);

    /// Elements converted to f64, f32, f16 or bf16, each rounded once, as read_as() does. Errors: invalid_argument for
    /// another dtype, unknown_dtype, unsupported_type (complex and unknown logical types), type_mismatch,
    /// size_mismatch; as open().
    static result<component_pieces> open_as(const component_view& from, dtype floating);

    /// The same of an object: of a dense one its elements, of one that is blocks of quantized weights the weights.
    /// Errors: as object_view::read_as() and above; unsupported_format where weights are not in one component.
    static result<component_pieces> open_as(const object_view& from, dtype floating);

    /// The next elements, little-endian, valid until the next call; empty once all have been given. Whole ones, unless
    /// they are stored bytes of a blob that holds indices as well. Errors: digest_mismatch, decode_failed, decode_size,
    /// limit_exceeded, bad_bool, size_mismatch (where only decoding tells), and what the source says; after one, the
    /// same at every call. invalid_argument once it was moved from.
    result<bytes_view> next() &;
    result<bytes_view> next() && = delete; // the piece would be gone

private:
    explicit component_pieces(detail::piece_reader* made) noexcept : pieces_(made) {}
    static result<component_pieces> start(const component_view& from, const dtype* floating);

    std::unique_ptr<detail::piece_reader, detail::piece_deleter> pieces_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/pieces_definitions.hpp>
#endif

#endif

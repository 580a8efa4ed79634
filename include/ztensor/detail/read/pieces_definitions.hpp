// SPDX-License-Identifier: MIT
//
// Pieces' public face, where memory is guarded and errors get their place. Defines what pieces.hpp declares.
#ifndef ZTENSOR_DETAIL_READ_PIECES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_PIECES_DEFINITIONS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/read/component_access.hpp>
#include <ztensor/detail/read/object_access.hpp>
#include <ztensor/detail/read/piece_reader.hpp>
#include <ztensor/pieces.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_INLINE void piece_deleter::operator()(piece_reader* pieces) const noexcept {
    delete pieces;
}

} // namespace detail

ZTENSOR_INLINE result<component_pieces> component_pieces::start(const component_view& from, const dtype* floating) {
    result<component_pieces> made = detail::guard_memory([&]() -> result<component_pieces> {
        component_pieces pieces(new detail::piece_reader(from, floating));
        result<void> started = pieces.pieces_->start();
        return started ? result<component_pieces>(std::move(pieces)) : std::move(started).error();
    });
    return made ? std::move(made) : detail::component_access::located(from, std::move(made).error());
}

ZTENSOR_INLINE result<component_pieces> component_pieces::open(const component_view& from) {
    return start(from, nullptr);
}

ZTENSOR_INLINE result<component_pieces> component_pieces::open_as(const component_view& from, dtype floating) {
    return start(from, &floating);
}

ZTENSOR_INLINE result<component_pieces> component_pieces::open_as(const object_view& from, dtype floating) {
    if (from.known_format() == format::dense) {
        const result<component_view> elements = from.data();
        return elements ? open_as(*elements, floating) : elements.error();
    }
    result<component_pieces> made = detail::guard_memory([&]() -> result<component_pieces> {
        ZTENSOR_TRY_ASSIGN(const detail::weight_blocks blocks,
                           detail::find_weight_blocks(detail::object_access::file_of(from).index,
                                                      detail::object_access::record_of(from)));
        component_pieces pieces(new detail::piece_reader(from.component("data").value(), &floating, &blocks));
        result<void> started = pieces.pieces_->start();
        return started ? result<component_pieces>(std::move(pieces)) : std::move(started).error();
    });
    return made ? std::move(made) : detail::object_access::located(from, std::move(made).error());
}

ZTENSOR_INLINE result<bytes_view> component_pieces::next() & {
    result<bytes_view> piece = detail::guard_memory([&] { return pieces_->next(); });
    return piece ? piece : detail::component_access::located(pieces_->component(), std::move(piece).error());
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

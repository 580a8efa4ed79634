// SPDX-License-Identifier: MIT
//
// Defines what object_draft.hpp declares.
#ifndef ZTENSOR_DETAIL_WRITE_DRAFT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_WRITE_DRAFT_DEFINITIONS_HPP

#include <ztensor/object_draft.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_COLD ZTENSOR_INLINE object_draft& object_draft::component_bytes(std::string_view role, dtype storage,
                                                                        bytes_view bytes, const store& how) {
    detail::component_source& added = components_.emplace_back();
    added.role = role;
    added.storage = storage;
    if (how.has_type_) {
        added.type = how.type_;
    }
    added.bytes = bytes;
    added.how = how;
    return *this;
}

ZTENSOR_COLD ZTENSOR_INLINE object_draft&
object_draft::add_elements(std::string_view role, const detail::typed_bytes& elements, const store& how) {
    const store typed = how.has_type_ ? how : store(how).type(elements.type);
    component_bytes(role, elements.storage, elements.bytes, typed);
    components_.back().swap_width = width_bytes(elements.storage);
    return *this;
}

ZTENSOR_COLD ZTENSOR_INLINE object_draft& object_draft::add_stored(std::string_view role,
                                                                   detail::stored_component stored,
                                                                   std::optional<std::uint64_t> decoded_bytes) {
    if (decoded_bytes) {
        stored.decoded_bytes = decoded_bytes;
    }
    detail::component_source& added = components_.emplace_back();
    added.role = role;
    added.stored = stored;
    return *this;
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

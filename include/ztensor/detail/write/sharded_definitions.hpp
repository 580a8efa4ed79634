// SPDX-License-Identifier: MIT
//
// The public face of models in many files, where memory is guarded. Defines what sharded_writer.hpp declares.
#ifndef ZTENSOR_DETAIL_WRITE_SHARDED_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_WRITE_SHARDED_DEFINITIONS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/part_rules.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/sharded_core.hpp>
#include <ztensor/sharded_writer.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_INLINE void detail::sharded_deleter::operator()(sharded_core* core) const noexcept {
    delete core;
}

ZTENSOR_COLD ZTENSOR_INLINE result<sharded_writer> sharded_writer::create(const file_path& path,
                                                                          const write_options& options) {
    return detail::guard_memory([&]() -> result<sharded_writer> {
        auto* const core = new detail::sharded_core(path, options, detail::operating_system());
        sharded_writer made(core);
        ZTENSOR_TRY(detail::with_core(core, [](detail::sharded_core& begun) { return begun.open(); }));
        return made;
    });
}

ZTENSOR_INLINE format_version sharded_writer::version() const noexcept {
    return core_ != nullptr ? core_->version() : format_version::v1_2;
}

ZTENSOR_INLINE result<void> sharded_writer::attributes(ztensor::attributes values) {
    return detail::with_core(core_.get(),
                             [&](detail::sharded_core& core) { return core.set_attributes(std::move(values)); });
}

ZTENSOR_INLINE result<void> sharded_writer::add_attributes(const attributes_view& more) {
    return detail::with_core(core_.get(), [&](detail::sharded_core& core) { return core.add_attributes(more); });
}

ZTENSOR_INLINE result<writer*> sharded_writer::begin(std::string_view name, std::uint64_t bytes) {
    return detail::with_core(core_.get(), [&](detail::sharded_core& core) { return core.begin(name, bytes); });
}

ZTENSOR_INLINE result<void> sharded_writer::end(result<void> added) {
    return detail::with_core(core_.get(), [&](detail::sharded_core& core) { return core.end(std::move(added)); });
}

ZTENSOR_INLINE result<void> sharded_writer::add_bytes(std::string_view name, const shape& dimensions, dtype storage,
                                                      bytes_argument little_endian, const store& how,
                                                      const object_attributes& about) {
    return place(name, little_endian.size(),
                 [&](writer& to) { return to.add_bytes(name, dimensions, storage, little_endian, how, about); });
}

ZTENSOR_INLINE result<void> sharded_writer::add_object(std::string_view name, const object_draft& draft) {
    std::uint64_t bytes = 0;
    for (const detail::component_source& each : detail::draft_access::components(draft)) {
        bytes += each.stored ? each.stored->length : each.decoded_bytes();
    }
    return place(name, bytes, [&](writer& to) { return to.add_object(name, draft); });
}

ZTENSOR_INLINE result<tensor_stream> sharded_writer::stream(std::string_view name, const shape& dimensions,
                                                            dtype storage, const store& how,
                                                            const object_attributes& about) & {
    const logical_type_facts* const type = detail::find_logical_type_of(version(), how.type());
    const std::uint64_t bytes = detail::bytes_of_elements(dimensions, storage, type, false).value_or(0);
    ZTENSOR_TRY_ASSIGN(writer* const to, begin(name, bytes));
    result<tensor_stream> made = to->stream(name, dimensions, storage, how, about);
    ZTENSOR_TRY(end(made ? result<void>() : result<void>(made.error())));
    return made;
}

ZTENSOR_INLINE result<void> sharded_writer::finish() {
    return detail::with_core(core_.get(), [&](detail::sharded_core& core) { return core.finish(); });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

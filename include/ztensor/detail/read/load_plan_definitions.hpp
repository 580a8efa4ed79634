// SPDX-License-Identifier: MIT
//
// Plans and what they load. Defines what load_plan.hpp declares.
#ifndef ZTENSOR_DETAIL_READ_LOAD_PLAN_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_LOAD_PLAN_DEFINITIONS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/read/component_access.hpp>
#include <ztensor/detail/read/load_run.hpp>
#include <ztensor/detail/read/load_targets.hpp>
#include <ztensor/detail/read/object_access.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline result<load_report> run_plan(const opened_file* file, const reader& from,
                                                  const std::vector<wanted_tensor>& wanted,
                                                  const load_options& options) {
    const double begin = steady_seconds();
    ZTENSOR_TRY_ASSIGN(const std::vector<load_target> targets, find_targets(from, wanted));
    result<load_report> report = load_run(*file, targets, options).carry_out();
    if (report) {
        report->seconds = steady_seconds() - begin;
    }
    return report;
}

/// The elements of any dense object in the host's byte order; of what is unknown, bytes.
[[nodiscard]] inline wanted_tensor whole_of(const object_view& object, span<std::byte> destination) {
    wanted_tensor wanted;
    const component_record& data =
        *find_component(object_access::file_of(object).index, object_access::record_of(object), "data");
    wanted.name = object.name();
    wanted.destination = destination;
    if (data.dtype) {
        wanted.request = {*data.dtype, {}, width_bytes(*data.dtype), 1, false};
    }
    return wanted;
}

} // namespace detail

ZTENSOR_INLINE load_plan& load_plan::add(std::string_view name, detail::wanted_tensor wanted,
                                         const slice& ranges) noexcept {
    const result<void> added = detail::guard_memory([&]() -> result<void> {
        wanted.name = name;
        wanted.ranges.assign(ranges.ranges().begin(), ranges.ranges().end());
        wanted_.push_back(std::move(wanted));
        return {};
    });
    is_out_of_memory_ = is_out_of_memory_ || !added;
    return *this;
}

ZTENSOR_INLINE result<std::uint64_t> load_plan::check() const {
    return detail::guard_memory([&]() -> result<std::uint64_t> {
        if (is_out_of_memory_) {
            return detail::fail(errc::out_of_memory, "memory ran out while tensors were added to the plan");
        }
        ZTENSOR_TRY_ASSIGN(const std::vector<detail::load_target> targets, detail::find_targets(file_, wanted_));
        std::uint64_t bytes = 0;
        for (const detail::load_target& each : targets) {
            bytes += each.decoded_bytes;
        }
        return bytes;
    });
}

ZTENSOR_INLINE result<load_report> load_plan::run(const load_options& options) const {
    return detail::guard_memory([&]() -> result<load_report> {
        if (is_out_of_memory_) {
            return detail::fail(errc::out_of_memory, "memory ran out while tensors were added to the plan");
        }
        return detail::run_plan(file_.file_.get(), file_, wanted_, options);
    });
}

ZTENSOR_INLINE result<std::vector<loaded_tensor>> read_all(const reader& from, const load_options& options) {
    return detail::guard_memory([&]() -> result<std::vector<loaded_tensor>> {
        std::vector<loaded_tensor> loaded;
        std::vector<detail::wanted_tensor> wanted;
        const detail::opened_file* file = nullptr;
        for (const object_view object : from) {
            const result<component_view> data = object.data();
            if (!data) {
                continue;
            }
            const std::optional<std::uint64_t> bytes = data->decoded_bytes();
            file = &detail::object_access::file_of(object);
            if (bytes) {
                if (result<void> allowed = detail::check_memory_limit(*bytes, file->options); !allowed) {
                    return detail::component_access::located(*data, std::move(allowed).error());
                }
            }
            if (!bytes) { // only decoding tells
                ZTENSOR_TRY_ASSIGN(array<std::byte> decoded, data->load<std::byte>());
                loaded.push_back({object, std::move(decoded)});
                continue;
            }
            loaded.push_back({object, array<std::byte>(static_cast<std::size_t>(*bytes))});
            wanted.push_back(detail::whole_of(object, span<std::byte>(loaded.back().bytes)));
        }
        if (!wanted.empty()) {
            ZTENSOR_TRY(detail::run_plan(file, from, wanted, options));
        }
        return loaded;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

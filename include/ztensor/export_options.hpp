// SPDX-License-Identifier: MIT
//
// What the exporters may be asked for.
#ifndef ZTENSOR_EXPORT_OPTIONS_HPP
#define ZTENSOR_EXPORT_OPTIONS_HPP

#include <ztensor/copy.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What of a file is exported, and how.
struct export_options {
    std::function<bool(const object_view&)> select_;
    std::function<std::string(std::string_view)> rename_;
    std::function<bool(const copy_progress&)> progress_;
    std::optional<dtype> floats_as_;
    bool attributes_ = true;
    sync_level sync_ = sync_level::durable;

    /// Only the objects for which this is true; all of them unless given.
    export_options& select(std::function<bool(const object_view&)> value) { return select_ = std::move(value), *this; }
    /// The new name for a name.
    export_options& rename(std::function<std::string(std::string_view)> value) {
        return rename_ = std::move(value), *this;
    }
    /// Called after every tensor; its bytes are decoded ones. False stops with errc::cancelled.
    export_options& progress(std::function<bool(const copy_progress&)> value) {
        return progress_ = std::move(value), *this;
    }
    /// Dense tensors of floating-point numbers of any width, and weights in blocks of ggml, become f64, f32, f16 or
    /// bf16, each number rounded once.
    export_options& floats_as(dtype value) noexcept { return floats_as_ = value, *this; }
    /// False leaves attributes out, instead of refusing those that the format has no place for.
    export_options& attributes(bool value) noexcept { return attributes_ = value, *this; }
    /// What is waited for in the end; the file appears all at once, as one of a writer does (publish_mode::replace).
    export_options& sync(sync_level value) noexcept { return sync_ = value, *this; }
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

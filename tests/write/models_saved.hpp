// SPDX-License-Identifier: MIT
//
// Models in many files, saved by any calls of a system.
#ifndef ZTENSOR_TESTS_WRITE_MODELS_SAVED_HPP
#define ZTENSOR_TESTS_WRITE_MODELS_SAVED_HPP

#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/detail/write/sharded_core.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/sharded_writer.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace models_saved {

using ztensor::format_version;

inline ztensor::write_options options_of(format_version version) {
    return ztensor::write_options().version(version).shard_bytes(1).threads(1);
}

/// What leads to the files of the model "m.zt".
inline std::string head_of(format_version version) {
    return version == format_version::v2 ? "m.zt" : "m.zt.index.json";
}

/// So many tensors of this number, each in a file of its own. Each is longer than the one before, because version 2
/// stores once what is in two.
template <class Writer>
ztensor::result<void> write_tensors(Writer& out, float number, std::size_t files) {
    for (std::size_t i = 0; i < files; ++i) {
        const auto added = out.add("t" + std::to_string(i), {300 + i}, std::vector<float>(300 + i, number));
        if (!added) {
            return added;
        }
    }
    return out.finish();
}

inline ztensor::result<void> save(const ztensor::file_path& path, const ztensor::write_options& options, float number,
                                  std::size_t files, ztensor::detail::os_calls& os) {
    namespace detail = ztensor::detail;
    if (options.version() != format_version::v2) {
        auto* const core = new detail::sharded_core(path, options, os);
        ztensor::sharded_writer out = detail::sharded_access::make(core);
        const ztensor::result<void> begun = core->open();
        return begun ? write_tensors(out, number, files) : begun;
    }
    auto shards = detail::shard_files::make(path, options, os);
    if (!shards) {
        return std::move(shards).error();
    }
    auto root = detail::create_root(path, options, os);
    if (!root) {
        return std::move(root).error();
    }
    auto* const core = new detail::writer_core(*std::move(root), nullptr, options);
    ztensor::writer out = detail::writer_access::make(core);
    core->file().shard_into(*std::move(shards));
    const ztensor::result<void> begun = core->begin();
    return begun ? write_tensors(out, number, files) : begun;
}

} // namespace models_saved

#endif

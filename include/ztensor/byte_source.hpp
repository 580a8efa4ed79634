// SPDX-License-Identifier: MIT
//
// Where the bytes of a container come from: a mapped file, positional reads, memory, or a class of the user's own.
// Knows nothing of what the bytes mean.
#ifndef ZTENSOR_BYTE_SOURCE_HPP
#define ZTENSOR_BYTE_SOURCE_HPP

#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/os_file.hpp>
#include <ztensor/error.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

/// Bytes at known places: derive from it to read containers out of an archive, a database or a network store.
/// Every member may be called from many threads at once, and the content must not change while a reader uses it.
class byte_source {
public:
    virtual ~byte_source() = default;
    byte_source(const byte_source&) = delete;
    byte_source& operator=(const byte_source&) = delete;

    /// Length of the whole content in bytes. The same at every call.
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

    /// Fills all of `destination` with the bytes that start at `offset`, or fails; what `destination` holds after a
    /// failure is never used. The library's own sources fail with errc::out_of_bounds for bytes after the end (a
    /// reader asks for none), errc::file_changed where a file has become shorter, and errc::io_error.
    [[nodiscard]] virtual result<void> read_at(std::uint64_t offset, span<std::byte> destination) const = 0;

    /// The whole content, where it lies in memory and stays there as long as this source; else empty, and then no
    /// tensor can be viewed without a copy.
    [[nodiscard]] virtual bytes_view mapped() const noexcept { return {}; }

    /// Asked before the mapped bytes are read in bulk. Fails with errc::file_changed if the length is no longer
    /// size(), or with errc::io_error. Changes of another kind are not noticed.
    [[nodiscard]] virtual result<void> check_unchanged() const { return {}; }

protected:
    byte_source() = default;
};

namespace detail {

/// `length` bytes at `offset` of a source of `size` bytes, or errc::out_of_bounds.
[[nodiscard]] inline result<void> check_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    if (fits(offset, length, size)) {
        return {};
    }
    return error(errc::out_of_bounds,
                 std::to_string(length) + " bytes were asked for, of a source that holds " + std::to_string(size))
        .at(offset);
}

/// A file, mapped or not. Positional reads never go through the mapping, so that they report errors and truncation
/// where touching the mapping would end the process.
class file_source final : public byte_source {
public:
    /// `path` is for messages only.
    file_source(file content, mapping in_memory, std::string path)
        : file_(std::move(content)), mapping_(std::move(in_memory)), path_(std::move(path)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return file_.size_bytes(); }

    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        return named(check_range(offset, destination.size(), size()).and_then([&] {
            return file_.read_at(offset, destination);
        }));
    }

    [[nodiscard]] bytes_view mapped() const noexcept override { return mapping_.bytes(); }

    [[nodiscard]] result<void> check_unchanged() const override { return named(file_.check_size()); }

private:
    [[nodiscard]] result<void> named(result<void> outcome) const {
        return std::move(outcome).transform_error([&](error why) { return std::move(why).in_file(path_); });
    }

    file file_;
    mapping mapping_;
    std::string path_;
};

/// A container in memory: the caller's, which must outlive the source, or its own.
class memory_source final : public byte_source {
public:
    explicit memory_source(bytes_view borrowed) noexcept : bytes_(borrowed) {}
    explicit memory_source(std::vector<std::byte> owned) noexcept : owned_(std::move(owned)), bytes_(owned_) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }

    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        if (result<void> inside = check_range(offset, destination.size(), size()); !inside) {
            return inside;
        }
        const bytes_view asked = bytes_.subspan(static_cast<std::size_t>(offset), destination.size());
        std::copy(asked.begin(), asked.end(), destination.begin());
        return {};
    }

    [[nodiscard]] bytes_view mapped() const noexcept override { return bytes_; }

private:
    std::vector<std::byte> owned_;
    bytes_view bytes_;
};

[[nodiscard]] inline result<std::shared_ptr<const byte_source>> open_file_source(const std::filesystem::path& path,
                                                                                 io_mode mode, os_calls& os) {
    result<file> opened = file::open(path, os);
    if (!opened) {
        return std::move(opened).error();
    }
    mapping in_memory;
    if (mode != io_mode::positional) {
        if (result<mapping> mapped = opened->map(); mapped) {
            in_memory = *std::move(mapped);
        } else if (mode == io_mode::mapped) {
            return std::move(mapped).error();
        }
    }
    return std::make_shared<file_source>(*std::move(opened), std::move(in_memory), path_text(path));
}

/// The file at `path`, reached as `mode` says. io_mode::automatic falls back to positional reads for any reason that
/// keeps the system from mapping: no support in the file system, no room in the address space.
///
/// Fails with errc::file_not_found, errc::not_regular_file, errc::io_error, or errc::unmappable where
/// io_mode::mapped can't be had.
[[nodiscard]] inline result<std::shared_ptr<const byte_source>>
open_source(const std::filesystem::path& path, io_mode mode, os_calls& os = operating_system()) {
    return open_file_source(path, mode, os).transform_error([&](error why) {
        return std::move(why).in_file(path_text(path));
    });
}

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif

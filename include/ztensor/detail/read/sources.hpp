// SPDX-License-Identifier: MIT
//
// The library's own sources of bytes: a file, mapped or not, and memory. Know nothing of what the bytes mean.
#ifndef ZTENSOR_DETAIL_READ_SOURCES_HPP
#define ZTENSOR_DETAIL_READ_SOURCES_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/read/lazy_mapping.hpp>
#include <ztensor/detail/read/source_access.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// `length` bytes at `offset` of a source of `size` bytes, or errc::out_of_bounds.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_range(std::uint64_t offset, std::uint64_t length,
                                                           std::uint64_t size) {
    if (fits(offset, length, size)) {
        return {};
    }
    return fail(errc::out_of_bounds, "{} bytes were asked for, of a source that holds {}", {length, size}).at(offset);
}

/// A file, mapped or not. read_at() never goes through the mapping, so that it reports errors and truncation where
/// touching the mapping would end the process.
class file_source final : public byte_source {
public:
    /// `path` is for messages only. Nothing is mapped before somebody asks.
    file_source(file content, const read_options& options, std::string path)
        : file_(std::move(content)), path_(std::move(path)), is_stable_(options.stable_file_),
          mapped_(file_.os(), file_.size_bytes(), options.mode_ != io_mode::positional) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return file_.size_bytes(); }

    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        result<void> read = check_range(offset, destination.size(), size());
        if (read) {
            read = file_.read_at(offset, destination);
        }
        return read ? read : std::move(read).error().in_file(path_);
    }

    [[nodiscard]] bytes_view mapped() const noexcept override {
        return mapped_.get([&] { return file_.map(); });
    }
    /// Maps the file, if it is not mapped yet.
    [[nodiscard]] ZTENSOR_COLD result<void> map() const noexcept {
        return mapped_.map([&] { return file_.map(); });
    }

    [[nodiscard]] ZTENSOR_COLD result<void> check_unchanged() const override {
        result<void> same = file_.check_size();
        return same ? same : std::move(same).error().in_file(path_);
    }

    ZTENSOR_COLD void prefetch(std::uint64_t offset, std::uint64_t length) const noexcept override {
        file_.advise(offset, length, true);
    }
    ZTENSOR_COLD void evict(std::uint64_t offset, std::uint64_t length) const noexcept override {
        if (const bytes_view mapped = mapped_.known(); !mapped.empty()) {
            forget_pages(mapped, offset, length);
        }
        file_.advise(offset, length, false);
    }

private:
    [[nodiscard]] const file* as_file() const noexcept override { return &file_; }
    [[nodiscard]] bool is_stable() const noexcept override { return is_stable_; }

    file file_;
    std::string path_;
    bool is_stable_; ///< read_options::stable_file()
    lazy_mapping mapped_;
};

/// A container in memory: the caller's, which must outlive the source, or its own.
class memory_source final : public byte_source {
public:
    explicit memory_source(bytes_view borrowed) noexcept : bytes_(borrowed) {}
    explicit memory_source(std::vector<std::byte> owned) noexcept : owned_(std::move(owned)), bytes_(owned_) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }

    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), size()));
        const bytes_view asked = bytes_.subspan(static_cast<std::size_t>(offset), destination.size());
        std::copy(asked.begin(), asked.end(), destination.begin());
        return {};
    }

    [[nodiscard]] bytes_view mapped() const noexcept override { return bytes_; }

private:
    std::vector<std::byte> owned_;
    bytes_view bytes_;
};

/// An open file, reached as mode() and stable_file() of the options say. Errors: unmappable.
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
source_of_file(file content, const read_options& options, const native_path& path) {
    auto source = std::make_shared<file_source>(std::move(content), options, path_text(path));
    if (options.mode_ == io_mode::mapped) {
        ZTENSOR_TRY(source->map());
    }
    return source;
}

[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_file_source(const native_path& path, const read_options& options, os_reading& os) {
    result<file> opened = file::open(path, os);
    return opened ? source_of_file(*std::move(opened), options, path) : std::move(opened).error();
}

/// The file at `path`, reached as mode() and stable_file() of the options say. io_mode::automatic falls back to
/// positional reads for any reason that keeps the system from mapping: no support in the file system, no room in the
/// address space.
///
/// Fails with errc::file_not_found, errc::not_regular_file, errc::io_error, or errc::unmappable where
/// io_mode::mapped can't be had.
[[nodiscard]] ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_source(const file_path& path, const read_options& options, os_reading& os = operating_system_for_reading()) {
    const native_path native = path.native();
    result<std::shared_ptr<const byte_source>> source = open_file_source(native, options, os);
    return source ? std::move(source) : std::move(source).error().in_file(path_text(native));
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

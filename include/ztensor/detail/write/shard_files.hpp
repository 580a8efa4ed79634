// SPDX-License-Identifier: MIT
//
// The shards of a file of version 2 that is written, beside it: data shards, one after the other. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_WRITE_SHARD_FILES_HPP
#define ZTENSOR_DETAIL_WRITE_SHARD_FILES_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Knows the digest of all that was written.
class shard_sink final : public byte_sink {
public:
    shard_sink(std::unique_ptr<byte_sink> to, std::unique_ptr<blob_digester> digester) noexcept
        : to_(std::move(to)), digester_(std::move(digester)) {}

    [[nodiscard]] result<void> write(bytes_view bytes) override {
        digester_->update(bytes);
        size_bytes_ += bytes.size();
        return to_->write(bytes);
    }
    [[nodiscard]] result<void> finish() override { return to_->finish(); }

    [[nodiscard]] bool would_destroy(const file& source) const override { return to_->would_destroy(source); }

    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] std::string digest_text() const { return digester_->text(); }

private:
    [[nodiscard]] bool holds(std::uint64_t offset, bytes_view bytes) override { return to_->holds(offset, bytes); }

    std::unique_ptr<byte_sink> to_;
    std::unique_ptr<blob_digester> digester_;
    std::uint64_t size_bytes_ = 0;
};

/// The shards that blobs go into. All but the last are complete, and none is published before the file itself is
/// complete.
class shard_files {
public:
    /// Beside the file of that path. Errors: invalid_argument.
    [[nodiscard]] ZTENSOR_COLD static result<std::unique_ptr<shard_files>> make(const file_path& root,
                                                                                const write_options& options) {
        return make_by(root, options, operating_system());
    }

    /// The same by these calls.
    [[nodiscard]] ZTENSOR_COLD static result<std::unique_ptr<shard_files>>
    make_by(const file_path& root, const write_options& options, os_calls& os) {
        constexpr std::string_view ending = ".zt";
        const native_path path = root.native();
        const native_path tail(ending.begin(), ending.end());
        if (path.size() <= tail.size() || path.compare(path.size() - tail.size(), tail.size(), tail) != 0) {
            return fail(errc::invalid_argument, "shards are named after a file whose own name ends in \".zt\"");
        }
        return std::unique_ptr<shard_files>(new shard_files(path.substr(0, path.size() - tail.size()), options, os));
    }

    [[nodiscard]] std::uint64_t most_bytes() const noexcept { return options_.shard_bytes_; }
    [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
    [[nodiscard]] byte_sink& shard(std::uint32_t number) noexcept { return *all_[number - 1]; }

    /// Errors: as file_writer::open().
    [[nodiscard]] ZTENSOR_COLD result<void> open_next() {
        const std::string tail = "-" + shard_name(count() + 1) + ".zt";
        const native_path path = stem_ + native_path(tail.begin(), tail.end());
        std::unique_ptr<file_writer> file(new file_writer(path, options_, os_));
        ZTENSOR_TRY(file->open());
        std::unique_ptr<blob_digester> digester(options_.make_shard_digester_());
        if (digester == nullptr) {
            return fail(errc::out_of_memory, "no memory for a digest");
        }
        digester->begin(options_.shard_digest_);
        all_.push_back(std::make_unique<shard_sink>(std::move(file), std::move(digester)));
        return {};
    }

    /// Errors: as file_writer::finish().
    [[nodiscard]] ZTENSOR_COLD result<void> finish() {
        for (const std::unique_ptr<shard_sink>& each : all_) {
            ZTENSOR_TRY(each->finish());
        }
        return {};
    }

    [[nodiscard]] bool would_destroy(const file& source) const {
        for (const std::unique_ptr<shard_sink>& each : all_) {
            if (each->would_destroy(source)) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] std::uint64_t most_table_bytes() const noexcept {
        constexpr std::uint64_t most_entry_bytes = 160;
        return (count() + std::uint64_t{1}) * most_entry_bytes;
    }

    ZTENSOR_COLD void encode_table(cbor_encoder& out) const {
        out.begin_map(all_.size());
        for (std::uint32_t i = 0; i < count(); ++i) { // whose names are in order: all have as many digits, or more
            out.text(shard_name(i + 1));
            out.begin_map(2);
            out.text("size");
            out.unsigned_integer(all_[i]->size_bytes());
            out.text("digest");
            out.text(all_[i]->digest_text());
        }
    }

private:
    shard_files(native_path stem, const write_options& options, os_calls& os)
        : stem_(std::move(stem)), options_(options), os_(os) {}

    native_path stem_; ///< of the file's path: without ".zt"
    write_options options_;
    os_calls& os_;
    std::vector<std::unique_ptr<shard_sink>> all_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

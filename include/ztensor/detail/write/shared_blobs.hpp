// SPDX-License-Identifier: MIT
//
// Which blobs a file of version 2 has, by what is in them: the same bytes are stored once. SPEC.md §13.
#ifndef ZTENSOR_DETAIL_WRITE_SHARED_BLOBS_HPP
#define ZTENSOR_DETAIL_WRITE_SHARED_BLOBS_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/codec/xxh3.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/digest_memory.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/manifest/growing_name_table.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where a blob lies.
struct blob_position {
    std::uint64_t offset;
    std::uint32_t shard; ///< its number; 0, the file itself
};

/// What a blob holds, but for collisions.
struct blob_identity {
    std::uint64_t xxh3;
    std::uint64_t length;
};

class shared_blobs {
    struct key_of { // the table's names are the bytes of the identities
        const shared_blobs* all;
        std::string_view operator()(std::size_t position) const noexcept { return key(all->identities_[position]); }
    };

public:
    [[nodiscard]] ZTENSOR_COLD std::optional<blob_position> find(const blob_identity& identity) const noexcept {
        const std::uint32_t found = table_.find(key(identity), key_of{this});
        return found != name_table::absent ? std::optional(positions_[found]) : std::nullopt;
    }
    /// Unless there is one: of blobs that collide the first is known.
    ZTENSOR_COLD void add(const blob_identity& identity, const blob_position& position) {
        if (!find(identity)) {
            identities_.push_back(identity);
            positions_.push_back(position);
            table_.add(key_of{this});
        }
    }

private:
    [[nodiscard]] static std::string_view key(const blob_identity& identity) noexcept {
        return as_text(as_bytes(span<const blob_identity>(&identity, 1)));
    }

    record_array<blob_identity> identities_;
    record_array<blob_position> positions_;
    growing_name_table table_;
};

/// Takes a blob that is only to be looked at.
class no_bytes final : public byte_sink {
public:
    [[nodiscard]] result<void> write(bytes_view) override { return {}; }
    [[nodiscard]] result<void> finish() override { return {}; }
};

/// Takes a blob and compares it with what a sink holds.
class compared_bytes final : public byte_sink {
public:
    compared_bytes(byte_sink& with, std::uint64_t offset) noexcept : with_(with), offset_(offset) {}

    [[nodiscard]] result<void> write(bytes_view bytes) override {
        is_same_ = is_same_ && with_.holds(offset_, bytes);
        offset_ += bytes.size();
        return {};
    }
    [[nodiscard]] result<void> finish() override { return {}; }
    [[nodiscard]] bool is_same() const noexcept { return is_same_; }

private:
    byte_sink& with_;
    std::uint64_t offset_;
    bool is_same_ = true;
};

/// XXH3 of 64 bits and nothing else, which every component of version 2 has.
class xxh3_digester final : public blob_digester {
public:
    xxh3_digester() noexcept : blob_digester(update_digester) { xxh3_start(memory_); }

    void begin(digest) noexcept override { xxh3_start(memory_); }
    [[nodiscard]] std::uint64_t value() const noexcept { return xxh3_value(memory_); }
    [[nodiscard]] std::string text() const override { return text_of(value()); }

    [[nodiscard]] static std::string text_of(std::uint64_t value) {
        std::string text = "xxh3:";
        for (int shift = 60; shift >= 0; shift -= 4) {
            text += "0123456789abcdef"[value >> shift & 15];
        }
        return text;
    }

private:
    static void update_digester(blob_digester& self, bytes_view bytes) noexcept {
        xxh3_update(static_cast<xxh3_digester&>(self).memory_, bytes);
    }

    digest_memory memory_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

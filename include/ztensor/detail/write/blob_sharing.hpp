// SPDX-License-Identifier: MIT
//
// Blobs of version 2 on their way into a file: one that is there already is not written again. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_WRITE_BLOB_SHARING_HPP
#define ZTENSOR_DETAIL_WRITE_BLOB_SHARING_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/digest_memory.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/codec/xxh3.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/store.hpp>

#include <cstdint>
#include <new>
#include <optional>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
    [[nodiscard]] std::string text() const override { return text_of_xxh3(value()); }

private:
    static void update_digester(blob_digester& self, bytes_view bytes) noexcept {
        xxh3_update(static_cast<xxh3_digester&>(self).memory_, bytes);
    }

    digest_memory memory_;
};

/// What a file of version 2 says of a raw blob, if it says it.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> stated_xxh3(const stored_component& stored) noexcept {
    const digest_parts digest = parse_digest_2(stored.digest);
    if (stored.generation != generation::v2 || digest.algorithm != digest::xxh3 || !digest.is_well_formed) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char digit : digest.digits) {
        value = value << 4 | static_cast<std::uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

/// What section_writer does for version 2 alone.
struct blob_sharing {
    /// Null where memory runs out.
    [[nodiscard]] static blob_digester* make_xxh3() { return new (std::nothrow) xxh3_digester; }

    /// Version 2: a blob that the file has already is not written again. What it has is known by its XXH3, and
    /// compared.
    [[nodiscard]] ZTENSOR_COLD static result<void> encode_or_share(section_writer& file, const blob_content& content,
                                                                   const store& how, component_entry& entry) {
        no_bytes nowhere;
        blob_writer looked_at(nowhere, 0, store(), nullptr, file.xxh3_.get(), true);
        ZTENSOR_TRY(looked_at.append(content, true));
        const blob_identity identity = {xxh3_of(file).value(), content.bytes.size()};
        const auto known = file.written_.find(identity);
        if (known == file.written_.end() || !holds(file, known->second, content)) {
            blob_digester* const still_to_do = how.digest_ != digest::none ? file.digester_.get() : nullptr;
            result<void> encoded = file.encode_here(content, how, still_to_do, entry);
            if (encoded) {
                file.written_.emplace(identity, section_writer::position_of(entry));
                entry.own_digest = still_to_do == nullptr ? text_of_xxh3(identity[0]) : entry.own_digest;
            }
            return encoded;
        }
        if (how.digest_ != digest::none) {
            blob_writer digested(nowhere, 0, how, nullptr, file.digester_.get(), true);
            ZTENSOR_TRY(digested.append(content, true));
        }
        section_writer::set_position(entry, known->second);
        entry.own_digest = file.digester_for(how)->text();
        return {};
    }

    /// A raw blob for version 2. What it holds is known by its digest, if it is of version 2, too, and else looked at.
    [[nodiscard]] ZTENSOR_COLD static result<void> copy_or_share(section_writer& file, const stored_component& stored,
                                                                 component_entry& entry) {
        const std::optional<std::uint64_t> stated = stated_xxh3(stored);
        if (!stated) {
            const digest algorithm = stored.new_digest.value_or(digest::none);
            ZTENSOR_TRY(look_at(file, stored, algorithm, entry));
        }
        const blob_identity identity = {stated.value_or(xxh3_of(file).value()), stored.length};
        const auto known = file.written_.find(identity);
        if (known != file.written_.end()) {
            ZTENSOR_TRY_ASSIGN(const bool same, holds(file, known->second, stored));
            if (same) {
                section_writer::set_position(entry, known->second);
                return {};
            }
        }
        result<void> copied = file.copy_here(stored, entry);
        if (copied) {
            file.written_.emplace(identity, section_writer::position_of(entry));
        }
        return copied;
    }

private:
    [[nodiscard]] static xxh3_digester& xxh3_of(section_writer& file) noexcept {
        return static_cast<xxh3_digester&>(*file.xxh3_);
    }

    [[nodiscard]] static bool holds(section_writer& file, const blob_position& position, const blob_content& content) {
        byte_sink& where = file.sink_of(position.shard);
        compared_bytes compared(where, position.offset);
        blob_writer blob(compared, 0, store(), nullptr, nullptr, true);
        return blob.append(content, true).has_value() && compared.is_same();
    }

    /// Of all of the blob its XXH3, and a digest for the entry, unless it keeps the one it has.
    [[nodiscard]] ZTENSOR_COLD static result<void> look_at(section_writer& file, const stored_component& stored,
                                                           digest algorithm, component_entry& entry) {
        blob_digester* const wanted = algorithm == digest::none ? nullptr : file.digester_.get();
        xxh3_of(file).begin(digest::xxh3);
        if (wanted != nullptr) {
            wanted->begin(algorithm);
        }
        result<void> read = section_writer::read_pieces(stored, [&](bytes_view piece) {
            xxh3_of(file).update(piece);
            if (wanted != nullptr) {
                wanted->update(piece);
            }
            return true;
        });
        if (read && !entry.copied_digest) {
            entry.own_digest = wanted != nullptr ? wanted->text() : xxh3_of(file).text();
        }
        return read;
    }

    [[nodiscard]] ZTENSOR_COLD static result<bool> holds(section_writer& file, const blob_position& position,
                                                         const stored_component& stored) {
        compared_bytes compared(file.sink_of(position.shard), position.offset);
        const result<void> read = section_writer::read_pieces(
            stored, [&](bytes_view piece) { return compared.write(piece).has_value() && compared.is_same(); });
        return read ? result<bool>(compared.is_same()) : read.error();
    }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

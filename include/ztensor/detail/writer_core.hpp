// SPDX-License-Identifier: MIT
//
// A file being written: position, objects so far, and whether it is still whole. SPEC.md §10.
#ifndef ZTENSOR_DETAIL_WRITER_CORE_HPP
#define ZTENSOR_DETAIL_WRITER_CORE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/blob_area.hpp>
#include <ztensor/detail/blob_writer.hpp>
#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/draft_check.hpp>
#include <ztensor/detail/manifest_write.hpp>
#include <ztensor/footer.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

class writer_core {
public:
    /// `memory` is the sink itself where it is one in memory, else null.
    writer_core(std::unique_ptr<byte_sink> sink, memory_sink* memory, const write_options& options) noexcept
        : file_(std::move(sink), options.alignment_bytes_), memory_(memory), options_(options) {}

    /// Before anything is touched. Errors: invalid_argument.
    [[nodiscard]] static result<void> check(const write_options& options) {
        if (!is_power_of_two(options.alignment_bytes_) || options.alignment_bytes_ < blob_alignment ||
            options.alignment_bytes_ > max_alignment_bytes) {
            return error(errc::invalid_argument, "an alignment of " + std::to_string(options.alignment_bytes_) +
                                                     " bytes is not a power of two from 64 to 1 GiB");
        }
        return {};
    }

    /// Writes what stands before the first blob.
    [[nodiscard]] result<void> begin() {
        return file_.write(as_bytes(options_.version_ == format_version::v0_1 ? magic_0_1 : magic_1));
    }

    /// To those that there are; of a key that is there already the value is replaced.
    [[nodiscard]] result<void> add_attributes(const attributes_view& more) {
        attributes all = attributes_.value_or(attributes());
        all.merge(attributes(more));
        return set_attributes(std::move(all));
    }

    [[nodiscard]] result<void> set_attributes(attributes values) {
        result<void> valid = check_open();
        if (valid) {
            valid = check_attributes(values);
        }
        if (valid && options_.version_ == format_version::v0_1) {
            valid = not_expressible(options_.version_, "attributes of the file");
        }
        if (valid) {
            attributes_ = std::move(values);
        }
        return valid;
    }

    [[nodiscard]] result<void> add_object(std::string_view name, const object_draft& draft) {
        object_entry object = entry_of(name, draft);
        for (const component_source& source : draft.components()) {
            result<void> valid = check_store(source.how);
            if (valid && source.storage == dtype::boolean) {
                valid = check_bools(source.bytes);
            }
            if (!valid) {
                return std::move(valid).error().in_object(name).in_component(source.role);
            }
        }
        if (result<void> valid = check_new(object); !valid) {
            return valid;
        }
        return unless_broken([&] { return write_object(draft, object); });
    }

    /// Runs `write() → result<T>`, which puts bytes into the file. If it fails nothing more can come of the writer:
    /// what was written is dropped.
    template <class Write>
    [[nodiscard]] std::invoke_result_t<Write> unless_broken(Write&& write) {
        struct breaking { // also if a sink or source of the caller's own throws
            writer_core* core;
            ~breaking() {
                if (core != nullptr) {
                    core->stream_.reset(); // its blob writes into the sink
                    core->file_.close();
                }
            }
        } unless_done{this};
        std::invoke_result_t<Write> written = guard_memory(std::forward<Write>(write));
        if (written) {
            unless_done.core = nullptr;
        }
        return written;
    }

    /// From 1.0 on a bool is 0 or 1. Errors: bad_bool.
    [[nodiscard]] result<void> check_bools(bytes_view bools) const {
        const auto found = std::find_if(bools.begin(), bools.end(), [](std::byte byte) { return byte > std::byte{1}; });
        if (options_.version_ == format_version::v0_1 || found == bools.end()) {
            return {};
        }
        return error(errc::bad_bool, "element " + std::to_string(found - bools.begin()) + " is a bool stored as " +
                                         std::to_string(std::to_integer<unsigned>(*found)) + ", neither 0 nor 1");
    }

    [[nodiscard]] result<void> check_store(const store& how) const {
        if (how.is_big_endian_ && how.encoding_ != encoding::raw) {
            return not_expressible(options_.version_, "big-endian data that is compressed");
        }
        return how.encoding_ == encoding::zstd ? check_zstd_level(how.zstd_level_) : result<void>();
    }

    /// Everything that can be known to be wrong before a byte is written. The lengths of the entries are those of
    /// the decoded components.
    [[nodiscard]] result<void> check_new(const object_entry& object) const {
        result<void> valid = check_open();
        if (valid) {
            valid = check_name(object.name);
        }
        if (valid && objects_.by_name.find(object.name) != objects_.by_name.end()) {
            valid = error(errc::duplicate_key, "an object of this name has been written already");
        }
        if (valid) {
            valid = check_entry(options_.version_, object);
        }
        return std::move(valid).transform_error([&](error why) { return std::move(why).in_object(object.name); });
    }

    /// Takes a written object into the manifest.
    void keep(object_entry& object) {
        const auto [at, inserted] =
            objects_.by_name.emplace(object.name, encode_object(options_.version_, object));
        static_cast<void>(inserted); // distinct: check_new() looked
        objects_.in_order.push_back(at);
    }

    [[nodiscard]] result<void> finish() {
        if (result<void> open = check_open(); !open) {
            return open;
        }
        result<void> done = unless_broken([this] { return write_manifest(); });
        if (done && memory_ != nullptr) {
            bytes_ = memory_->take();
        }
        file_.close();
        return done;
    }

    [[nodiscard]] blob_area& file() noexcept { return file_; }
    [[nodiscard]] format_version version() const noexcept { return options_.version_; }
    [[nodiscard]] std::vector<std::byte> take_bytes() noexcept { return std::exchange(bytes_, {}); }

    // -- a dense tensor in pieces

    /// Until finish_stream() nothing else may be written. Gives the number of the stream, by which the other calls know
    /// it: those about any other stream than the open one are of one that is over.
    [[nodiscard]] result<std::uint64_t> begin_stream(std::string_view name, const shape& dimensions, dtype storage,
                                            const store& how) {
        if (result<void> valid = check_store(how); !valid) {
            return std::move(valid).error().in_object(name);
        }
        open_stream stream;
        stream.name = name;
        stream.dimensions = dimensions;
        stream.storage = storage;
        stream.how = how;
        stream.how.type_ = {}; // borrowed by the caller's store; the entry has a copy
        stream.entry.role = "data";
        stream.entry.dtype = v0::name(storage);
        stream.entry.type = how.has_type_ ? std::optional<std::string>(how.type_) : std::nullopt;
        stream.entry.is_big_endian = how.is_big_endian_ && width_bytes(storage) > 1;
        const logical_type_facts* const type = find_logical_type(how.type_);
        const std::uint64_t element_bytes = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
        // A product that overflows is refused as shape_overflow by check_new(), whatever length stands here.
        stream.entry.length = checked_multiply(dimensions.element_count().value_or(0), element_bytes).value_or(0);
        if (result<void> valid = check_new(stream.object()); !valid) {
            return std::move(valid).error();
        }
        return unless_broken([&]() -> result<std::uint64_t> {
            result<blob_writer> blob = blob_writer::create(file_.sink(), how, stream.entry.length);
            const result<std::uint64_t> offset = file_.begin_blob();
            if (!blob || !offset) {
                return !blob ? std::move(blob).error() : offset.error();
            }
            stream.blob.emplace(*std::move(blob));
            stream.offset = *offset;
            stream_.emplace(std::move(stream));
            return ++stream_number_;
        });
    }

    /// Elements of `width` bytes in the host's order, or with a width of 1 bytes as they are.
    [[nodiscard]] result<void> append_to_stream(std::uint64_t number, bytes_view piece, std::size_t width) {
        if (!is_open(number)) {
            return closed();
        }
        if (piece.size() > stream_missing_bytes(number)) {
            return error(errc::size_mismatch, "a piece of " + std::to_string(piece.size()) + " bytes, where only " +
                                                  std::to_string(stream_missing_bytes(number)) + " are missing")
                .in_object(stream_->name);
        }
        if (result<void> valid = stream_->storage == dtype::boolean ? check_bools(piece) : result<void>(); !valid) {
            return std::move(valid).error().in_object(stream_->name);
        }
        return unless_broken([&] { return stream_->blob->append_host_order(piece, width); });
    }

    [[nodiscard]] result<void> finish_stream(std::uint64_t number) {
        if (!is_open(number)) {
            return closed();
        }
        if (stream_missing_bytes(number) != 0) {
            return error(errc::size_mismatch, "of the tensor's " + std::to_string(stream_->entry.length) + " bytes " +
                                                  std::to_string(stream_missing_bytes(number)) + " are missing")
                .in_object(stream_->name);
        }
        return unless_broken([this]() -> result<void> {
            if (result<void> ended = stream_->blob->finish(); !ended) {
                return ended;
            }
            file_.complete(stream_->entry, stream_->offset, stream_->how, *stream_->blob);
            object_entry object = stream_->object();
            keep(object);
            stream_.reset();
            return {};
        });
    }

    /// A stream that is dropped leaves half a tensor behind: the file is lost.
    void abandon_stream(std::uint64_t number) noexcept {
        if (is_open(number)) {
            stream_.reset();
            file_.close();
        }
    }

    [[nodiscard]] std::uint64_t stream_missing_bytes(std::uint64_t number) const noexcept {
        return is_open(number) ? stream_->entry.length - stream_->blob->decoded_bytes() : 0;
    }
    [[nodiscard]] std::optional<dtype> stream_dtype(std::uint64_t number) const noexcept {
        return is_open(number) ? std::optional(stream_->storage) : std::nullopt;
    }

    [[nodiscard]] static error closed() {
        return error(errc::writer_closed, "nothing more can be written: it has been finished, or failed before");
    }

    [[nodiscard]] result<void> check_open() const {
        if (!file_.is_open()) {
            return closed();
        }
        if (stream_) {
            return error(errc::writer_closed, "a stream of this writer is not finished");
        }
        return {};
    }

private:
    struct open_stream {
        std::string name;
        shape dimensions;
        dtype storage = dtype::u8;
        store how;
        component_entry entry; ///< its length is the decoded one until the stream is finished
        std::uint64_t offset = 0;
        std::optional<blob_writer> blob;

        [[nodiscard]] object_entry object() const {
            object_entry object;
            object.name = name;
            object.shape = &dimensions;
            object.format = v0::name(format::dense);
            object.components.push_back(entry);
            return object;
        }
    };

    [[nodiscard]] bool is_open(std::uint64_t number) const noexcept { return stream_ && number == stream_number_; }

    static constexpr std::uint64_t max_alignment_bytes = std::uint64_t{1} << 30;
    static constexpr std::uint64_t max_manifest_bytes = std::uint64_t{1} << 30;

    [[nodiscard]] result<void> write_component(const component_source& source, component_entry& entry) {
        return source.stored ? file_.copy(*source.stored, entry) : file_.encode(source, entry);
    }

    [[nodiscard]] result<void> write_object(const object_draft& draft, object_entry& object) {
        for (std::size_t i = 0; i < object.components.size(); ++i) {
            if (result<void> written = write_component(draft.components()[i], object.components[i]); !written) {
                return std::move(written).error().in_object(object.name).in_component(object.components[i].role);
            }
        }
        keep(object);
        return {};
    }

    [[nodiscard]] result<void> write_manifest() {
        const std::vector<std::byte> manifest =
            encode_manifest(options_.version_, attributes_ ? &*attributes_ : nullptr, objects_);
        if (manifest.size() > max_manifest_bytes) {
            return error(errc::manifest_too_large, "the manifest takes " + std::to_string(manifest.size()) +
                                                       " bytes, more than the 1 GiB that a reader takes");
        }
        result<void> done = file_.write(manifest);
        if (done) {
            done = file_.write(encode_footer(options_.version_, manifest.size()));
        }
        return done ? file_.finish() : done;
    }

    blob_area file_; ///< closed once the writer has finished or failed
    memory_sink* memory_;
    std::vector<std::byte> bytes_; ///< the finished file, of a sink in memory
    write_options options_;
    std::optional<attributes> attributes_;
    encoded_objects objects_;
    std::optional<open_stream> stream_;
    std::uint64_t stream_number_ = 0; ///< of the latest stream
};

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif

// SPDX-License-Identifier: MIT
//
// A file being written: position, objects so far, and whether it is still whole. SPEC.md §10.
#ifndef ZTENSOR_DETAIL_WRITE_WRITER_CORE_HPP
#define ZTENSOR_DETAIL_WRITE_WRITER_CORE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/detail/write/blob_area.hpp>
#include <ztensor/detail/write/blob_writer.hpp>
#include <ztensor/detail/write/draft_check.hpp>
#include <ztensor/detail/write/sinks.hpp>
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
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
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
            return fail(errc::invalid_argument, "an alignment of {} bytes is not a power of two from 64 to 1 GiB",
                        {options.alignment_bytes_});
        }
        return {};
    }

    /// Writes what stands before the first blob.
    [[nodiscard]] result<void> begin() {
        return file_.write(as_bytes(options_.version_ == format_version::v0_1 ? magic_0_1 : magic_1));
    }

    /// To those that there are; of a key that is there already the value is replaced.
    [[nodiscard]] ZTENSOR_COLD result<void> add_attributes(const attributes_view& more) {
        attributes all = attributes_.value_or(attributes());
        all.merge(attributes(more));
        return set_attributes(std::move(all));
    }

    [[nodiscard]] ZTENSOR_COLD result<void> set_attributes(attributes values) {
        if (result<void> open = check_open(); !open) {
            return open;
        }
        if (result<void> valid = check_attributes(values); !valid) {
            return valid;
        }
        if (options_.version_ == format_version::v0_1) {
            return not_expressible(options_.version_, "attributes of the file");
        }
        attributes_ = std::move(values);
        return {};
    }

    [[nodiscard]] ZTENSOR_COLD result<void> add_object(std::string_view name, const object_draft& draft) {
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
        const breaking_unless_done writing(*this);
        return writing.done(write_object(draft, object));
    }

    /// Around whatever puts bytes into the file: if it fails, nothing more can come of the writer, and what was written
    /// is dropped; also if memory runs out, or if a sink or source of the caller's own throws.
    class breaking_unless_done {
    public:
        explicit breaking_unless_done(writer_core& core) noexcept : core_(&core) {}
        breaking_unless_done(const breaking_unless_done&) = delete;
        breaking_unless_done& operator=(const breaking_unless_done&) = delete;
        ~breaking_unless_done() {
            if (core_ != nullptr) {
                core_->stream_.reset(); // its blob writes into the sink
                core_->file_.close();
            }
        }
        /// What came of the writing.
        template <class Outcome>
        [[nodiscard]] Outcome done(Outcome outcome) const {
            if (outcome) {
                core_ = nullptr;
            }
            return outcome;
        }

    private:
        mutable writer_core* core_;
    };

    /// From 1.0 on a bool is 0 or 1. Errors: bad_bool.
    [[nodiscard]] result<void> check_bools(bytes_view bools) const {
        const auto found = std::find_if(bools.begin(), bools.end(), [](std::byte byte) { return byte > std::byte{1}; });
        if (options_.version_ == format_version::v0_1 || found == bools.end()) {
            return {};
        }
        return fail(errc::bad_bool, "element {} is a bool stored as {}, neither 0 nor 1",
                    {found - bools.begin(), std::to_integer<unsigned>(*found)});
    }

    [[nodiscard]] result<void> check_store(const store& how) const {
        if (how.is_big_endian_ && how.encoding_ != encoding::raw) {
            return not_expressible(options_.version_, "big-endian data that is compressed");
        }
        return how.encoding_ == encoding::zstd ? check_zstd_level(how.zstd_level_) : result<void>();
    }

    /// Everything that can be known to be wrong before a byte is written. The lengths of the entries are those of
    /// the decoded components.
    [[nodiscard]] ZTENSOR_COLD result<void> check_new(const object_entry& object) const {
        result<void> valid = check_open();
        if (valid) {
            valid = check_name(object.name);
        }
        if (valid && objects_.contains(object.name)) {
            valid = fail(errc::duplicate_key, "an object of this name has been written already");
        }
        if (valid) {
            valid = check_entry(options_.version_, object);
        }
        return valid ? valid : std::move(valid).error().in_object(object.name);
    }

    /// Takes a written object into the manifest.
    void keep(const object_entry& object) { objects_.add(object.name, encode_object(options_.version_, object)); }

    [[nodiscard]] result<void> finish() {
        if (result<void> open = check_open(); !open) {
            return open;
        }
        const breaking_unless_done writing(*this);
        result<void> done = writing.done(write_manifest());
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
    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> begin_stream(std::string_view name, const shape& dimensions,
                                                                  dtype storage, const store& how) {
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
        stream.entry.dtype = facts(storage).name;
        stream.type = how.type_;
        stream.has_type = how.has_type_;
        stream.entry.is_big_endian = how.is_big_endian_ && width_bytes(storage) > 1;
        const logical_type_facts* const type = find_logical_type(how.type_);
        const std::uint64_t element_bytes = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
        // A product that overflows is refused as shape_overflow by check_new(), whatever length stands here.
        stream.entry.length = checked_multiply(dimensions.element_count().value_or(0), element_bytes).value_or(0);
        if (result<void> valid = check_new(stream.object()); !valid) {
            return std::move(valid).error();
        }
        const breaking_unless_done writing(*this);
        return writing.done(start(std::move(stream)));
    }

    /// Elements of `width` bytes in the host's order, or with a width of 1 bytes as they are.
    [[nodiscard]] result<void> append_to_stream(std::uint64_t number, bytes_view piece, std::size_t width) {
        if (!is_open(number)) {
            return closed();
        }
        if (piece.size() > stream_missing_bytes(number)) {
            return fail(errc::size_mismatch, "a piece of {} bytes, where only {} are missing",
                        {piece.size(), stream_missing_bytes(number)})
                .in_object(stream_->name);
        }
        if (result<void> valid = stream_->storage == dtype::boolean ? check_bools(piece) : result<void>(); !valid) {
            return std::move(valid).error().in_object(stream_->name);
        }
        const breaking_unless_done writing(*this);
        return writing.done(stream_->blob->append_host_order(piece, width));
    }

    [[nodiscard]] result<void> finish_stream(std::uint64_t number) {
        if (!is_open(number)) {
            return closed();
        }
        if (stream_missing_bytes(number) != 0) {
            return fail(errc::size_mismatch, "of the tensor's {} bytes {} are missing",
                        {stream_->entry.length, stream_missing_bytes(number)})
                .in_object(stream_->name);
        }
        const breaking_unless_done writing(*this);
        return writing.done(complete_stream());
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
        return fail(errc::writer_closed, "nothing more can be written: it has been finished, or failed before");
    }

    [[nodiscard]] result<void> check_open() const {
        if (!file_.is_open()) {
            return closed();
        }
        if (stream_) {
            return fail(errc::writer_closed, "a stream of this writer is not finished");
        }
        return {};
    }

private:
    struct open_stream {
        std::string name;
        shape dimensions;
        dtype storage = dtype::u8;
        store how;
        std::string type;
        bool has_type = false;
        component_entry entry; ///< its length is the decoded one until the stream is finished
        std::uint64_t offset = 0;
        std::optional<blob_writer> blob;

        [[nodiscard]] object_entry object() const {
            object_entry object;
            object.name = name;
            object.shape = &dimensions;
            object.format = facts(format::dense).name;
            object.components.push_back(entry);
            if (has_type) {
                object.components.back().type = type;
            }
            return object;
        }
    };

    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> start(open_stream&& stream) {
        result<blob_writer> blob = blob_writer::create(file_.sink(), stream.how, stream.entry.length);
        if (!blob) {
            return std::move(blob).error();
        }
        const result<std::uint64_t> offset = file_.begin_blob();
        if (!offset) {
            return offset.error();
        }
        stream.blob.emplace(*std::move(blob));
        stream.offset = *offset;
        stream_.emplace(std::move(stream));
        return ++stream_number_;
    }

    [[nodiscard]] result<void> complete_stream() {
        if (result<void> ended = stream_->blob->finish(); !ended) {
            return ended;
        }
        file_.complete(stream_->entry, stream_->offset, stream_->how, *stream_->blob);
        keep(stream_->object());
        stream_.reset();
        return {};
    }

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

    [[nodiscard]] ZTENSOR_COLD result<void> write_manifest() {
        const std::vector<std::byte> manifest =
            encode_manifest(options_.version_, attributes_ ? &*attributes_ : nullptr, objects_);
        if (manifest.size() > max_manifest_bytes) {
            return fail(errc::manifest_too_large,
                        "the manifest takes {} bytes, more than the 1 GiB that a reader takes", {manifest.size()});
        }
        if (result<void> written = file_.write(manifest); !written) {
            return written;
        }
        if (result<void> written = file_.write(encode_footer(options_.version_, manifest.size())); !written) {
            return written;
        }
        return file_.finish();
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
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

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
#include <ztensor/detail/write/dense_check.hpp>
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
        : file_(std::move(sink), options), memory_(memory), options_(options) {}
    writer_core(const writer_core&) = delete;
    writer_core& operator=(const writer_core&) = delete;
    ~writer_core() { drop_stream(); }

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

    /// A dense tensor of elements in memory. What most files hold, so that it has a way of its own: the same rules and
    /// the same words as in add_object(), but nothing that only other objects need.
    [[nodiscard]] result<void> add_dense(const dense_tensor& tensor, const blob_content& content) {
        component_entry data = entry_of(tensor, content.bytes.size());
        result<void> valid = check_store(tensor.how);
        if (valid && tensor.storage == dtype::boolean) {
            valid = check_bools(content.bytes);
        }
        if (!valid) {
            return std::move(valid).error().in_object(tensor.name).in_component(data.role);
        }
        if (valid = check_new(tensor, data); !valid) {
            return valid;
        }
        const breaking_unless_done writing(*this);
        return writing.done(write_dense(tensor, content, data));
    }

    [[nodiscard]] ZTENSOR_COLD result<void> add_object(std::string_view name, const object_draft& draft) {
        std::vector<component_entry> entries = entries_of(draft);
        const object_entry object = entry_of(name, draft, entries);
        for (const component_source& source : draft.components()) {
            result<void> valid = check_store(source.how);
            if (valid && source.storage == dtype::boolean) {
                valid = check_bools(source.bytes);
            }
            if (!valid) {
                return std::move(valid).error().in_object(name).in_component(source.role);
            }
        }
        result<void> valid = check_next(name);
        if (valid) {
            valid = check_entry(options_.version_, object);
        }
        if (!valid) {
            return std::move(valid).error().in_object(name);
        }
        const breaking_unless_done writing(*this);
        return writing.done(write_object(draft, entries, object));
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
                core_->drop_stream(); // its blob writes into the sink
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

    [[nodiscard]] result<void> check_store(const store& how) {
        if (how.is_big_endian_ && how.encoding_ != encoding::raw) {
            return not_expressible(options_.version_, "big-endian data that is compressed");
        }
        return file_.prepare(how);
    }

    /// Another object may follow, and have this name.
    [[nodiscard]] result<void> check_next(std::string_view name) const {
        if (result<void> open = check_open(); !open) {
            return open;
        }
        if (result<void> valid = check_name(name); !valid) {
            return valid;
        }
        if (objects_.contains(name)) {
            return fail(errc::duplicate_key, "an object of this name has been written already");
        }
        return {};
    }

    /// Everything that can be known to be wrong before a byte is written.
    [[nodiscard]] result<void> check_new(const dense_tensor& tensor, const component_entry& data) const {
        result<void> valid = check_next(tensor.name);
        if (valid) {
            valid = check_dense(options_.version_, tensor, data);
        }
        return valid ? valid : std::move(valid).error().in_object(tensor.name);
    }

    /// Takes a written object into the manifest.
    void keep(const object_entry& object) { objects_.add(options_.version_, object); }

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
        const logical_type_facts* const type = find_logical_type(how.type_);
        const std::uint64_t element_bytes = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
        // A product that overflows is refused as shape_overflow by check_new(), whatever length stands here.
        const std::uint64_t bytes = checked_multiply(dimensions.element_count().value_or(0), element_bytes).value_or(0);
        const dense_tensor tensor = {name, dimensions, storage, word_of_type(how), how};
        if (result<void> valid = check_new(tensor, entry_of(tensor, bytes)); !valid) {
            return std::move(valid).error();
        }
        const breaking_unless_done writing(*this);
        return writing.done(start_stream(tensor, bytes));
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
        return writing.done(stream_->blob.append({piece, width}, false));
    }

    [[nodiscard]] result<void> finish_stream(std::uint64_t number) {
        if (!is_open(number)) {
            return closed();
        }
        if (stream_missing_bytes(number) != 0) {
            return fail(errc::size_mismatch, "of the tensor's {} bytes {} are missing",
                        {stream_->decoded_bytes, stream_missing_bytes(number)})
                .in_object(stream_->name);
        }
        const breaking_unless_done writing(*this);
        return writing.done(complete_stream());
    }

    /// A stream that is dropped leaves half a tensor behind: the file is lost.
    void abandon_stream(std::uint64_t number) noexcept {
        if (is_open(number)) {
            drop_stream();
            file_.close();
        }
    }

    [[nodiscard]] std::uint64_t stream_missing_bytes(std::uint64_t number) const noexcept {
        return is_open(number) ? stream_->decoded_bytes - stream_->blob.decoded_bytes() : 0;
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
        if (stream_ != nullptr) {
            return fail(errc::writer_closed, "a stream of this writer is not finished");
        }
        return {};
    }

    /// The logical type that is asked for.
    [[nodiscard]] static std::optional<std::string_view> word_of_type(const store& how) noexcept {
        return how.has_type_ ? std::optional(how.type_) : std::nullopt;
    }

private:
    /// The tensor's words and shape, owned, and its blob.
    struct open_stream {
        std::string name;
        shape dimensions;
        dtype storage;
        std::string type;
        store how; ///< its type is the one above
        std::uint64_t decoded_bytes;
        std::uint64_t offset;
        blob_writer blob;

        [[nodiscard]] dense_tensor tensor() const noexcept {
            return {name, dimensions, storage, how.has_type_ ? std::optional<std::string_view>(type) : std::nullopt,
                    how};
        }
    };

    [[nodiscard]] ZTENSOR_COLD result<std::uint64_t> start_stream(const dense_tensor& tensor, std::uint64_t bytes) {
        const result<std::uint64_t> offset = file_.begin_blob();
        if (!offset) {
            return offset.error();
        }
        stream_ = new open_stream{std::string(tensor.name),
                                  tensor.dimensions,
                                  tensor.storage,
                                  std::string(tensor.how.type_),
                                  tensor.how,
                                  bytes,
                                  *offset,
                                  file_.writer_at(*offset, tensor.how)};
        stream_->how.type_ = {}; // borrowed by the caller's store
        delete_stream_ = [](open_stream* stream) noexcept { delete stream; };
        return ++stream_number_;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> complete_stream() {
        if (result<void> ended = stream_->blob.append({}, true); !ended) {
            return ended;
        }
        const dense_tensor tensor = stream_->tensor();
        component_entry data = entry_of(tensor, stream_->decoded_bytes);
        file_.complete(data, stream_->offset, stream_->blob);
        keep(entry_of(tensor, data));
        drop_stream();
        return {};
    }

    void drop_stream() noexcept {
        if (stream_ != nullptr) {
            delete_stream_(std::exchange(stream_, nullptr));
        }
    }

    [[nodiscard]] bool is_open(std::uint64_t number) const noexcept {
        return stream_ != nullptr && number == stream_number_;
    }

    static constexpr std::uint64_t max_alignment_bytes = std::uint64_t{1} << 30;
    static constexpr std::uint64_t max_manifest_bytes = std::uint64_t{1} << 30;

    [[nodiscard]] result<void> write_dense(const dense_tensor& tensor, const blob_content& content,
                                           component_entry& data) {
        if (result<void> written = file_.encode(content, tensor.how, data); !written) {
            return std::move(written).error().in_object(tensor.name).in_component(data.role);
        }
        keep(entry_of(tensor, data));
        return {};
    }

    [[nodiscard]] result<void> write_component(const component_source& source, component_entry& entry) {
        return source.stored ? file_.copy(*source.stored, entry)
                             : file_.encode({source.bytes, source.swap_width}, source.how, entry);
    }

    [[nodiscard]] ZTENSOR_COLD result<void>
    write_object(const object_draft& draft, std::vector<component_entry>& entries, const object_entry& object) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (result<void> written = write_component(draft.components()[i], entries[i]); !written) {
                return std::move(written).error().in_object(object.name).in_component(entries[i].role);
            }
        }
        keep(object);
        return {};
    }

    [[nodiscard]] ZTENSOR_COLD result<void> write_manifest() {
        cbor_encoder text;
        encode_manifest_start(text, options_.version_, attributes_ ? &*attributes_ : nullptr, objects_.size());
        const std::uint64_t manifest_bytes = text.size() + objects_.encoded_bytes(options_.version_);
        if (manifest_bytes > max_manifest_bytes) {
            return fail(errc::manifest_too_large,
                        "the manifest takes {} bytes, more than the 1 GiB that a reader takes", {manifest_bytes});
        }
        result<void> written = file_.write(text.bytes());
        if (written) {
            written = objects_.hand_over(options_.version_, [&](bytes_view bytes) { return file_.write(bytes); });
        }
        if (written) {
            text.clear();
            encode_footer(text, options_.version_, manifest_bytes);
            written = file_.write(text.bytes());
        }
        return written ? file_.finish() : written;
    }

    blob_area file_; ///< closed once the writer has finished or failed
    memory_sink* memory_;
    std::vector<std::byte> bytes_; ///< the finished file, of a sink in memory
    write_options options_;
    std::optional<attributes> attributes_;
    encoded_objects objects_;
    open_stream* stream_ = nullptr; ///< owned
    void (*delete_stream_)(open_stream* stream) noexcept = nullptr;
    std::uint64_t stream_number_ = 0; ///< of the latest stream
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

// SPDX-License-Identifier: MIT
//
// What a writer does with objects, whatever it writes to.
#ifndef ZTENSOR_DETAIL_WRITE_WRITER_CORE_HPP
#define ZTENSOR_DETAIL_WRITE_WRITER_CORE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/draft_check.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/manifest_draft.hpp>
#include <ztensor/detail/write/planes_draft.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- abort on failure
//
// What a failure half-way does to a writer. SPEC.md section 10.

/// Stands around whatever puts bytes into a writer's file: if that fails, the writer breaks off; also if memory runs
/// out, or if a sink or source of the caller's own throws.
template <class Writer>
class abort_on_failure {
public:
    explicit abort_on_failure(Writer& writer) noexcept : writer_(&writer) {}
    abort_on_failure(const abort_on_failure&) = delete;
    abort_on_failure& operator=(const abort_on_failure&) = delete;
    ~abort_on_failure() {
        if (writer_ != nullptr) {
            writer_->break_off();
        }
    }

    /// What came of the writing.
    template <class Outcome = result<void>>
    [[nodiscard]] Outcome done(Outcome outcome = Outcome()) const {
        if (outcome) {
            writer_ = nullptr;
        }
        return outcome;
    }

private:
    mutable Writer* writer_;
};

// -- options check
//
// What a writer is asked for, before anything is touched.

/// Errors: invalid_argument; not_expressible (shards before version 2); unsupported_digest (version 2, in a build
/// without xxHash).
ZTENSOR_COLD inline result<void> check_options(const write_options& options) {
    constexpr uint64_t max_alignment_bytes = uint64_t{1} << 30;
    if (options.version() > format_version::v2) { // made of a number
        return fail(errc::invalid_argument, "there is no format version of number {}",
                    {static_cast<unsigned>(options.version())});
    }
    const bool is_version_2 = options.version() == format_version::v2;
    const uint64_t least = is_version_2 ? blob_alignment_2 : blob_alignment;
    const uint64_t alignment = options.alignment_bytes().value_or(least);
    if (!is_power_of_two(alignment) || alignment < least || alignment > max_alignment_bytes) {
        return fail(errc::invalid_argument, "an alignment of {} bytes is not a power of two from {} to 1 GiB",
                    {alignment, least});
    }
    if (options.shard_bytes() != 0 && !is_version_2) {
        return not_expressible(options.version(), "shards");
    }
    const bool has_digest = options.shard_digest() == digest::xxh3 || options.shard_digest() == digest::sha256;
    if (options.shard_bytes() != 0 && !has_digest) {
        return fail(errc::invalid_argument, "shards have digests of xxh3 or sha256, and of nothing else");
    }
    return is_version_2 ? require_xxh3() : result<void>();
}

// -- writer core
//
// A file being written: what may come next, and whether it is still whole. SPEC.md section 10.

class writer_core {
public:
    /// `memory` is the sink itself where it is one in memory, else null.
    writer_core(std::unique_ptr<byte_sink> sink, memory_sink* memory, const write_options& options) noexcept
        : file_(std::move(sink), options), memory_(memory), options_(options), manifest_(options_) {
        options_.max_manifest_bytes((std::min)(options.max_manifest_bytes(), max_manifest_bytes));
    }
    writer_core(const writer_core&) = delete;
    writer_core& operator=(const writer_core&) = delete;

    /// Writes what stands before the first blob.
    result<void> begin() { return file_.write(as_bytes(magic_of(options_.version()))); }

    /// What the manifest will say; a file that goes on with an old one starts there instead of by begin().
    [[nodiscard]] manifest_draft& manifest() noexcept { return manifest_; }

    /// To those that there are; of a key that is there already the value is replaced.
    ZTENSOR_COLD result<void> add_attributes(const attributes_view& more) {
        attributes all = manifest_.file_attributes();
        all.merge(attributes(more));
        return set_attributes(std::move(all));
    }

    ZTENSOR_COLD result<void> set_attributes(attributes values) {
        result<void> open = check_open();
        return open ? manifest_.set_attributes(std::move(values), table_bytes()) : std::move(open);
    }

    /// A dense tensor of elements in memory. What most files hold, so that it has a way of its own: the same rules and
    /// the same words as in add_object(), but nothing that only other objects need.
    result<void> add_dense(const dense_tensor& given, const blob_content& content) {
        if (given.how.is_in_planes()) {
            return draft_access::way_into_planes(given.how)(*this, given, content);
        }
        const dense_tensor tensor = in_words_of(options_.version(), given);
        component_entry data = entry_of(tensor, content.bytes.size());
        result<void> valid = check_store(tensor.how);
        if (valid) {
            valid = check_values(options_.version(), tensor.storage, tensor.type, content.bytes,
                                 tensor.dimensions.element_count());
        }
        ZTENSOR_TRY(in_object(in_component(std::move(valid), data.role), tensor.name));
        ZTENSOR_TRY(check_new(tensor, data));
        const abort_on_failure writing(*this);
        ZTENSOR_TRY(in_object(in_component(file_.encode(content, tensor.how, data), data.role), tensor.name));
        manifest_.keep(entry_of(tensor, data));
        return writing.done();
    }

    /// The same in planes, unless something else is smaller.
    ZTENSOR_COLD result<void> add_in_planes(const dense_tensor& given, const blob_content& content) {
        ZTENSOR_TRY(in_object(check_store(given.how), given.name));
        const dense_tensor tensor = in_words_of(options_.version(), given);
        ZTENSOR_TRY(check_new(tensor, entry_of(tensor, content.bytes.size())));
        ZTENSOR_TRY_ASSIGN(const object_draft draft, in_object(draft_dense(given, content), given.name));
        return add_object(given.name, draft);
    }

    ZTENSOR_COLD result<void> add_object(string_view name, const object_draft& draft) {
        const component_source* const data =
            draft_access::components(draft).size() == 1 ? draft_access::components(draft).data() : nullptr;
        const add_tensor into_planes = data != nullptr ? draft_access::way_into_planes(data->how) : nullptr;
        if (into_planes != nullptr && data->role == "data" && draft.format() == ztensor::name(format::dense)) {
            const optional<string_view> type = data->type ? optional<string_view>(*data->type) : std::nullopt;
            const auto about = draft.attributes() ? object_attributes(*draft.attributes()) : object_attributes();
            return into_planes(*this, {name, draft.shape(), data->storage, type, data->how, about},
                               {data->bytes, data->swap_width});
        }
        return add_object(name, draft, [this](const object_entry& object) { manifest_.keep(object); });
    }

    /// Writes the object's blobs; `keep_it(object)` takes it into the manifest.
    template <class Keep>
    ZTENSOR_COLD result<void> add_object(string_view name, const object_draft& draft, const Keep& keep_it) {
        vector<component_entry> entries = entries_of(options_.version(), draft);
        object_entry object = entry_of(name, draft, entries);
        attributes in_one_form;
        ZTENSOR_TRY(in_object(check_object(draft, object, in_one_form), name));
        const abort_on_failure writing(*this);
        ZTENSOR_TRY(in_object(write_components(draft, entries), name));
        keep_it(object);
        return writing.done();
    }

    /// A second name for an object.
    ZTENSOR_COLD result<void> add_tied(string_view name, string_view of) {
        result<void> tied = check_next(name);
        return in_object(tied ? manifest_.tie(name, of, table_bytes()) : std::move(tied), name);
    }

    /// Nothing more can come of the writer, and what was written is dropped.
    void break_off() noexcept {
        stream_.reset(); // its blob writes into the sink
        file_.close();
    }

    result<void> finish() {
        ZTENSOR_TRY(check_open());
        const abort_on_failure writing(*this);
        ZTENSOR_TRY(manifest_.write(file_));
        ZTENSOR_TRY(file_.finish());
        if (memory_ != nullptr) {
            bytes_ = memory_->take();
        }
        file_.close();
        return writing.done();
    }

    /// For errors, which say what they were about.
    ZTENSOR_COLD void set_path(const file_path& path) { path_ = path_text(path.native()); }
    /// What the caller gave was refused, unless it happened in a file that is named already.
    ZTENSOR_COLD void locate(error& why) const noexcept {
        if (why.path().empty()) {
            why = std::move(why).in_file(path_).by_caller();
        }
    }

    [[nodiscard]] section_writer& file() noexcept { return file_; }
    [[nodiscard]] format_version version() const noexcept { return options_.version(); }
    /// Whether attributes are kept in one form, of all that say the same, and an empty map of them not at all.
    [[nodiscard]] bool has_attributes_in_one_form() const noexcept { return options_.version() == format_version::v2; }
    [[nodiscard]] vector<byte> take_bytes() noexcept { return std::exchange(bytes_, {}); }

    // -- a dense tensor in pieces

    /// Until finish_stream() nothing else may be written, and a stream that is dropped leaves half a tensor behind: the
    /// file is lost, and break_off() is to be called. The calls below are about the stream that there is then. Elements
    /// of `element_bytes` each, or if that is 0 of as many as their types take.
    ZTENSOR_COLD result<void> begin_stream(string_view name, const shape& dimensions, dtype storage, const store& how,
                                           const object_attributes& about, uint64_t element_bytes) {
        ZTENSOR_TRY(in_object(check_store(how), name));
        const logical_type_facts* const type = find_logical_type_of(options_.version(), how.type());
        const bool is_packed = type != nullptr && type->packed_elements != 1;
        if (element_bytes == 0) {
            element_bytes = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
        }
        // A product that overflows is refused as shape_overflow by check_new(), whatever length stands here.
        const uint64_t bytes =
            is_packed ? bytes_of_elements(dimensions, storage, type, false).value_or(0)
                      : checked_multiply(dimensions.element_count().value_or(0), element_bytes).value_or(0);
        const dense_tensor said =
            in_words_of(options_.version(), {name, dimensions, storage, word_of_type(how), how, about});
        ZTENSOR_TRY(check_new(said, entry_of(said, bytes)));
        const bool in_planes = how.is_in_planes() && may_have_planes(storage, how.has_type(), bytes);
        ZTENSOR_TRY(in_planes ? in_object(check_planes(said, about.get(), bytes), name) : result<void>());
        const store stored = in_planes            ? raw_like(how).zstd_if_smaller(1, most_of_fractions)
                             : how.is_in_planes() ? without_planes(how)
                                                  : how;
        const abort_on_failure writing(*this);
        ZTENSOR_TRY_ASSIGN(const uint64_t offset, file_.begin_blob(bytes));
        stream_.emplace(open_stream{string(name), dimensions, storage, stored, element_bytes, bytes, offset,
                                    file_.writer_at(offset, stored)});
        if (in_planes) {
            stream_->planes =
                std::make_unique<planes_pieces>(width_bytes(storage), file_.threads(), file_.algorithm_for(how),
                                                options_.version() == format_version::v2);
        }
        if (about.get() != nullptr) {
            stream_->of_object = *about.get();
        }
        return writing.done();
    }

    /// Elements of `width` bytes in the host's order, or with a width of 1 bytes as they are.
    result<void> append_to_stream(bytes_view piece, size_t width) {
        const uint64_t missing = stream_missing_bytes();
        if (piece.size() > missing) {
            return fail(errc::size_mismatch, "a piece of {} bytes, where only {} are missing", {piece.size(), missing})
                .in_object(stream_->name);
        }
        const dense_tensor tensor = stream_->tensor();
        const auto elements = piece.size() == missing ? tensor.dimensions.element_count() : std::nullopt;
        ZTENSOR_TRY(
            in_object(check_values(options_.version(), tensor.storage, tensor.type, piece, elements), tensor.name));
        const abort_on_failure writing(*this);
        return writing.done(in_object(stream_->append({piece, width}, false), tensor.name));
    }

    ZTENSOR_COLD result<void> set_stream_attributes(attributes values) {
        const dense_tensor tensor = in_words_of(options_.version(), stream_->tensor());
        const component_entry data = entry_of(tensor, stream_->decoded_bytes);
        object_entry object = entry_of(tensor, data);
        object.attributes = &values;
        attributes in_one_form;
        ZTENSOR_TRY(in_object(check_stream_attributes(object, in_one_form), tensor.name));
        if (stream_->planes != nullptr) {
            ZTENSOR_TRY(in_object(check_planes(tensor, object.attributes, stream_->decoded_bytes), tensor.name));
        }
        stream_->of_object.reset();
        if (object.attributes != nullptr) {
            stream_->of_object = std::move(has_attributes_in_one_form() ? in_one_form : values);
        }
        return {};
    }

    ZTENSOR_COLD result<void> finish_stream() {
        if (stream_missing_bytes() != 0) {
            return fail(errc::size_mismatch, "of the tensor's {} bytes {} are missing",
                        {stream_->decoded_bytes, stream_missing_bytes()})
                .in_object(stream_->name);
        }
        const abort_on_failure writing(*this);
        ZTENSOR_TRY(in_object(stream_->append({}, true), stream_->name));
        const dense_tensor tensor = in_words_of(options_.version(), stream_->tensor());
        if (stream_->planes != nullptr) {
            ZTENSOR_TRY(in_object(finish_planes(tensor), tensor.name));
        } else {
            component_entry data = entry_of(tensor, stream_->decoded_bytes);
            file_.complete(data, stream_->offset, stream_->blob);
            object_entry object = entry_of(tensor, data);
            object.attributes = stream_->of_object ? &*stream_->of_object : nullptr;
            manifest_.keep(object);
        }
        stream_.reset();
        return writing.done();
    }

    [[nodiscard]] bool has_stream() const noexcept { return stream_.has_value(); }
    [[nodiscard]] uint64_t stream_missing_bytes() const noexcept { return stream_->missing_bytes(); }
    /// Elements of `element_bytes` have the storage type of the stream, and each is no more than one of its elements.
    result<void> check_stream_type(const typed_bytes& elements, size_t element_bytes) const {
        if (stream_->storage != elements.storage) {
            return fail(errc::type_mismatch, "the tensor is of {}, not of {}",
                        {ztensor::name(stream_->storage), ztensor::name(elements.storage)})
                .in_object(stream_->name);
        }
        if (element_bytes > stream_->element_bytes) { // complex numbers where real ones belong: half as many would do
            return fail(errc::type_mismatch, "elements of {} bytes, where those of the tensor take {}",
                        {element_bytes, stream_->element_bytes})
                .in_object(stream_->name);
        }
        return {};
    }

    [[nodiscard]] static error closed() {
        return fail(errc::writer_closed, "nothing more can be written: it has been finished, or failed before");
    }

    result<void> check_open() const {
        if (!file_.is_open()) {
            return closed();
        }
        if (stream_) {
            return fail(errc::writer_closed, "a stream of this writer is not finished");
        }
        return {};
    }

    /// The logical type that is asked for.
    [[nodiscard]] static optional<string_view> word_of_type(const store& how) noexcept {
        return how.has_type() ? optional<string_view>(how.type()) : std::nullopt;
    }

private:
    /// The tensor's words and shape, owned, and its blob.
    struct open_stream {
        string name;
        shape dimensions;
        dtype storage;
        store how;
        uint64_t element_bytes;
        uint64_t decoded_bytes;
        uint64_t offset;
        blob_writer blob;
        std::unique_ptr<planes_pieces> planes = nullptr; ///< then the blob is that of its fractions
        optional<attributes> of_object = std::nullopt;
        object_attributes about = {}; ///< none: see of_object

        result<void> append(const blob_content& piece, bool last) {
            return planes != nullptr ? planes->append(blob, piece, last) : blob.append(piece, last);
        }
        [[nodiscard]] uint64_t missing_bytes() const noexcept {
            return decoded_bytes - (planes != nullptr ? planes->decoded_bytes() : blob.decoded_bytes());
        }

        [[nodiscard]] dense_tensor tensor() const noexcept {
            return {name, dimensions, storage, word_of_type(how), how, about};
        }
    };

    static constexpr uint64_t max_manifest_bytes = uint64_t{1} << 30;
    /// Of the first MiB of fractions; what takes less compressed is no noise.
    static constexpr double most_of_fractions = 0.99;

    /// A tensor in planes can be written with these attributes, as far as is known before. Errors: as check_entry();
    /// duplicate_key.
    ZTENSOR_COLD result<void> check_planes(const dense_tensor& tensor, const attributes* given, uint64_t bytes) const {
        const size_t width = width_bytes(tensor.storage);
        const std::array<component_entry, 2> parts = {
            entry_of_plane(plane::exponent, bytes / width, width, tensor.how),
            entry_of_plane(plane::fraction, bytes / width, width, tensor.how)};
        ZTENSOR_TRY_ASSIGN(const attributes values, attributes_of_planes(given, tensor.storage));
        const object_entry object = entry_of_planes(tensor, values, parts);
        ZTENSOR_TRY(manifest_.check_bounds(object, table_bytes()));
        return check_entry(options_.version(), object);
    }

    /// The end of a stream in planes: the exponents come behind the fractions.
    ZTENSOR_COLD result<void> finish_planes(const dense_tensor& tensor) {
        const size_t width = width_bytes(tensor.storage);
        const uint64_t count = stream_->decoded_bytes / width;
        std::array<component_entry, 2> parts = {entry_of_plane(plane::exponent, count, width, tensor.how),
                                                entry_of_plane(plane::fraction, count, width, tensor.how)};
        file_.complete(parts[1], stream_->offset, stream_->blob);
        const vector<byte> exponents = stream_->planes->take_exponents();
        ZTENSOR_TRY(file_.put(exponents, stream_->planes->exponents(), parts[0]));
        ZTENSOR_TRY_ASSIGN(const attributes values,
                           attributes_of_planes(stream_->of_object ? &*stream_->of_object : nullptr, tensor.storage));
        manifest_.keep(entry_of_planes(tensor, values, parts));
        return {};
    }

    /// Of the table of shards, at most.
    [[nodiscard]] uint64_t table_bytes() const noexcept {
        return file_.shards() != nullptr ? file_.shards()->most_table_bytes() : 0;
    }

    result<void> check_store(const store& how) {
        if (how.is_big_endian() && how.encoding() != encoding::raw) {
            return not_expressible(options_.version(), "big-endian data that is compressed");
        }
        ZTENSOR_TRY(check_digest(options_.version(), how.digest()));
        return file_.prepare(how);
    }

    /// Another object may follow, and have this name.
    result<void> check_next(string_view name) const {
        result<void> open = check_open();
        return open ? manifest_.check_new_name(name) : std::move(open);
    }

    /// Everything that can be known to be wrong before a byte is written.
    result<void> check_new(const dense_tensor& tensor, const component_entry& data) const {
        const object_entry object = entry_of(tensor, data);
        result<void> valid = check_next(tensor.name);
        valid = valid ? check_dense(options_.version(), tensor, data) : std::move(valid);
        valid = valid ? draft_access::check_of(tensor.about)(options_.version(), object) : std::move(valid);
        valid = valid ? manifest_.check_bounds(object, table_bytes()) : std::move(valid);
        return in_object(std::move(valid), tensor.name);
    }

    /// The same of any object, which gets the words that the version has for it; `in_one_form` holds its attributes.
    ZTENSOR_COLD result<void> check_object(const object_draft& draft, object_entry& object, attributes& in_one_form) {
        if (options_.version() == format_version::v2) {
            object.format = draft_access::keeps_word(draft) ? object.format : layout_word(object.format);
            ZTENSOR_TRY(use_deterministic_attributes(object, in_one_form));
        }
        const bool is_dense = object.format == ztensor::name(format::dense);
        const auto elements = is_dense ? draft.shape().element_count() : std::nullopt;
        for (const component_source& source : draft_access::components(draft)) {
            ZTENSOR_TRY(in_component(check_source(source, elements), source.role));
        }
        ZTENSOR_TRY(check_next(object.name));
        ZTENSOR_TRY(manifest_.check_bounds(object, table_bytes()));
        return check_entry(options_.version(), object);
    }

    ZTENSOR_COLD result<void> check_source(const component_source& source, optional<uint64_t> elements) {
        ZTENSOR_TRY(check_store(source.how));
        ZTENSOR_TRY(manifest_.check_form_of_name(source.role));
        return source.stored ? file_.check_digest(*source.stored)
                             : check_values(options_.version(), source.storage, source.type, source.bytes, elements);
    }

    ZTENSOR_COLD result<void> check_stream_attributes(object_entry& object, attributes& in_one_form) const {
        ZTENSOR_TRY(has_attributes_in_one_form()
                        ? use_deterministic_attributes(object, in_one_form)
                        : check_attributes(options_.version(), *object.attributes,
                                           depth_around_object_attributes(options_.version())));
        ZTENSOR_TRY(check_expressible(options_.version(), object));
        return manifest_.check_bounds(object, table_bytes());
    }

    ZTENSOR_COLD result<void> write_components(const object_draft& draft, vector<component_entry>& entries) {
        for (const uint32_t i : blob_order(options_.version(), draft)) {
            const component_source& source = draft_access::components(draft)[i];
            ZTENSOR_TRY(in_component(
                source.stored ? file_.copy(*source.stored, entries[i])
                              : file_.encode({source.bytes, source.swap_width, source.plane_width, source.is_fraction},
                                             source.how, entries[i]),
                source.role));
        }
        return {};
    }

    string path_;         ///< as it was given; "" where the bytes go elsewhere
    section_writer file_; ///< closed once the writer has finished or failed
    memory_sink* memory_;
    vector<byte> bytes_; ///< the finished file, of a sink in memory
    write_options options_;
    manifest_draft manifest_;
    optional<open_stream> stream_;
};

/// Runs `work(core) -> result<T>`, unless what has the core was moved from, and says in an error which file it is
/// about.
template <class Core, class Work>
[[nodiscard]] auto with_core(Core* core, const Work& work) -> std::invoke_result_t<const Work&, Core&> {
    return guard_memory([&]() -> std::invoke_result_t<const Work&, Core&> {
        if (core == nullptr) {
            return writer_core::closed();
        }
        auto done = work(*core);
        if (!done) {
            core->locate(done.error());
        }
        return done;
    });
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

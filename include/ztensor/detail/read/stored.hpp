// SPDX-License-Identifier: MIT
//
// The stored bytes of a component: where they lie, whether they may be held in memory, what their digest says, and what
// elements they are. SPEC.md section 4, section 7.
#ifndef ZTENSOR_DETAIL_READ_STORED_HPP
#define ZTENSOR_DETAIL_READ_STORED_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/digest.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- memory

[[nodiscard]] ZTENSOR_COLD inline error no_memory(const char* what, uint64_t bytes) {
    return fail(errc::out_of_memory, "no memory for {} of {} bytes", {what, bytes});
}

/// `size` bytes of new memory for what the words say. Errors: out_of_memory.
ZTENSOR_COLD inline result<span<byte>> allocate(byte_buffer& memory, uint64_t size, const char* what) {
    if (!fits_address_space(size) || !memory.allocate(static_cast<size_t>(size))) {
        return no_memory(what, size);
    }
    return memory.writable_bytes();
}

/// Bytes that the thread keeps for the next who asks, up to 2 MiB of them: untouched pages cost more than decoding what
/// goes there. Who asks while they are lent, as a source that reads another container does, gets others; and so does
/// who asks at the very end of a thread, where nothing is kept.
class thread_memory {
public:
    thread_memory() noexcept : bytes_(kept()) {}
    thread_memory(const thread_memory&) = delete;
    thread_memory& operator=(const thread_memory&) = delete;
    ZTENSOR_COLD ~thread_memory() {
        const size_t size = bytes_.size();
        if (size <= most_kept_bytes && size > this_thread().kept[static_cast<size_t>(kept_kind::memory)].size) {
            keep(kept_kind::memory, {bytes_.release(), size, [](void* memory) { ::operator delete(memory); }});
        }
    }

    /// `size` bytes for what the words say, of which the first `used` are kept. Errors: out_of_memory.
    ZTENSOR_COLD result<span<byte>> reserve(size_t size, const char* what, size_t used = 0) {
        if (size <= bytes_.size()) {
            return first(size);
        }
        byte_buffer larger;
        if (!larger.allocate((std::max)({size, smallest_bytes, 2 * used}))) {
            return no_memory(what, size);
        }
        advise_large_memory(larger.data(), larger.size());
        if (used != 0) {
            std::memcpy(larger.data(), bytes_.data(), used);
        }
        bytes_ = std::move(larger);
        return first(size);
    }

    [[nodiscard]] span<byte> first(size_t size) const noexcept { return {bytes_.data(), size}; }

private:
    static constexpr size_t smallest_bytes = size_t{64} << 10;
    static constexpr size_t most_kept_bytes = size_t{2} << 20;

    [[nodiscard]] static byte_buffer kept() noexcept {
        const kept_object memory = take_kept(kept_kind::memory);
        return byte_buffer::adopt(memory.object, memory.size);
    }

    byte_buffer bytes_;
};

// -- call budget
//
// What one call may hold in memory of all that it makes, however many parts an object has and however they grow on
// their way: decoded, widened, converted, unpacked.

class call_budget {
public:
    explicit call_budget(const read_options& options) noexcept
        : most_(options.max_decoded_bytes()), left_(options.max_decoded_bytes()) {}

    /// Before that much memory is made. Errors: limit_exceeded, too_large_for_host.
    ZTENSOR_COLD result<void> take(uint64_t elements, uint64_t element_bytes) noexcept {
        const optional<uint64_t> bytes = checked_multiply(elements, element_bytes);
        if (!bytes || *bytes > left_) {
            return fail(errc::limit_exceeded,
                        "{} elements of {} bytes would take the call beyond the {} of read_options::max_decoded_bytes",
                        {elements, element_bytes, most_});
        }
        if (!fits_address_space(*bytes)) {
            return fail(errc::too_large_for_host, "{} elements of {} bytes are more than this host can address",
                        {elements, element_bytes});
        }
        left_ -= *bytes;
        return {};
    }

private:
    uint64_t most_;
    uint64_t left_;
};

// -- bulk
//
// Many bytes of a source on their way into memory: from where they lie, if they stay as they are, else by reads.

/// From so many bytes on copying from a mapping pays: each page that is looked at for the first time costs a fault.
inline constexpr size_t bulk_bytes = size_t{1} << 20;

/// A range of a file where it lies, if it is much and stays as it is; else nothing. Errors: what the source says.
inline result<optional<bytes_view>> find_stable_bulk(const byte_source& source, uint64_t offset, size_t size) {
    if (size < bulk_bytes || !source_access::is_file(source)) {
        return optional<bytes_view>();
    }
    return source_access::find_stable_range(source, offset, size);
}

/// As byte_source::read_at(), for bytes that are not looked at soon. What stays as it is in a mapped file is copied
/// from there. What has to be read takes 0.85 of the time where the pages of new memory come beforehand.
inline result<void> read_bulk(const byte_source& source, uint64_t offset, span<byte> destination) {
    ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable, find_stable_bulk(source, offset, destination.size()));
    if (stable) {
        copy_much(*stable, destination, destination.size() >= past_cache_bytes);
        return {};
    }
    while (destination.size() > bulk_bytes && !source_access::is_far(source, offset, destination.size()) &&
           is_untouched(destination)) {
        const span<byte> piece = destination.first((std::min)(destination.size(), huge_page_bytes));
        make_pages(piece);
        ZTENSOR_TRY(source.read_at(offset, piece));
        offset += piece.size();
        destination = destination.subspan(piece.size());
    }
    return destination.empty() ? result<void>() : source.read_at(offset, destination);
}

// -- where it happened

/// The same; an error says at which byte of the file it happened.
template <class T>
result<T> at_offset(result<T> done, uint64_t offset) {
    return done ? std::move(done) : std::move(done).error().at(offset);
}

// -- stored
//
// The stored bytes of one component: where they lie, whether they may be held in memory, and their digest. SPEC.md
// section 7.

/// `bytes` may be held in memory: by this host, and by the caller's limit.
inline result<void> check_memory_limit(uint64_t bytes, const read_options& options) {
    if (bytes > options.max_decoded_bytes()) {
        return fail(errc::limit_exceeded,
                    "the component takes {} bytes, more than the {} of read_options::max_decoded_bytes",
                    {bytes, options.max_decoded_bytes()});
    }
    if (!fits_address_space(bytes)) {
        return fail(errc::too_large_for_host, "the component takes {} bytes, more than this host can address", {bytes});
    }
    return {};
}

/// The blob where it lies in memory, or nothing if the source is not mapped. For views alone: others may change the
/// bytes of a mapped file at any time, and take them away.
[[nodiscard]] inline optional<bytes_view> mapped_blob(const opened_file& file,
                                                      const component_record& component) noexcept {
    return source_access::mapped_range(*file.source, component.offset, component.length);
}

/// A blob of `bytes` may be held in memory while it is decoded.
inline result<void> check_blob_limit(uint64_t bytes, const read_options& options) {
    const uint64_t most_growth = options.max_decoded_bytes() / 128 + 1024; // what zstd can't compress grows
    ZTENSOR_TRY(check_memory_limit(bytes - (std::min)(bytes, most_growth), options));
    if (!fits_address_space(bytes)) {
        return fail(errc::too_large_for_host, "the blob takes {} bytes, more than this host can address", {bytes});
    }
    return {};
}

/// A range of the file in memory of our own, or where it lies in a file that stays as it is: what is hashed, checked
/// and decoded there is one state of the bytes, whatever happens to the source meanwhile.
ZTENSOR_COLD inline result<bytes_view> load_range(const opened_file& file, uint64_t offset, uint64_t length,
                                                  thread_memory& memory) {
    ZTENSOR_TRY(check_blob_limit(length, file.options));
    if (source_access::is_file(*file.source)) {
        ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable,
                           source_access::find_stable_range(*file.source, offset, length));
        if (stable) {
            return *stable;
        }
    }
    ZTENSOR_TRY_ASSIGN(const span<byte> blob, memory.reserve(static_cast<size_t>(length), "a blob"));
    ZTENSOR_TRY(file.source->read_at(offset, blob));
    return blob;
}

/// What the manifest's digest says of `computed`, the digester that took all stored bytes in.
[[nodiscard]] inline digest_state compare_digest(const digest_parts& expected, const digester& computed) {
    const string text = computed.text();
    const digest_parts found = expected.algorithm == digest::xxh3 ? parse_strict_digest(text) : parse_any_digest(text);
    return same_digest(found, expected) ? digest_state::match : digest_state::mismatch;
}

/// The digest that the manifest gives; its algorithm is none where this library can't compute it, or there is none.
[[nodiscard]] inline digest_parts known_digest(const opened_file& file, const component_record& component) noexcept {
    const string_view text = file.index.text(component.digest_text);
    if (file.index.version == version::v2) {
        return parse_strict_digest(text);
    }
    return file.index.is_foreign() ? parse_any_digest(text) : parse_digest(text);
}

/// What that digest covers: the blob, or a range of the source that is not the blob.
[[nodiscard]] inline digest_cover cover_of(const opened_file& file, const component_record& component) noexcept {
    const digest_cover own = {component.offset, component.length, component.offset, component.length};
    const auto found = std::lower_bound(file.digest_covers.begin(), file.digest_covers.end(), own);
    return found != file.digest_covers.end() && !(own < *found) ? *found : own;
}

/// Of bytes that can't be inflated, or were found to be others than were written, the digest can't match; every other
/// failure is one.
ZTENSOR_COLD inline result<digest_state> damaged_or(error why) noexcept {
    const errc code = why.code();
    if (code == errc::digest_mismatch || code == errc::decode_failed || code == errc::decode_size) {
        return digest_state::mismatch;
    }
    return why;
}

/// Whether a digest is checked: as the caller's options say, in any case, or not, as of a part of a blob.
enum class digest_use : uint8_t { as_wanted, always, never };

/// Where the caller wants digests checked: takes in a blob's stored bytes (in version 2 what they decode to) as they
/// are read, from memory that nobody else changes, and says in the end whether they match its digest, if it has one
/// that is known.
class blob_check {
public:
    blob_check(const opened_file& file, const component_record& component,
               digest_use use = digest_use::as_wanted) noexcept
        : file_(file), component_(component),
          expected_(use == digest_use::always || (use == digest_use::as_wanted && file.options.verify_digests())
                        ? known_digest(file, component)
                        : digest_parts()),
          hash_(expected_.algorithm) {
        if (!file.digest_covers.empty() && is_wanted()) {
            take_cover();
        }
    }

    [[nodiscard]] bool is_wanted() const noexcept { return expected_.algorithm != digest::none; }
    void take(bytes_view next) noexcept { hash_.update(next); }
    /// In the place of all bytes, the sum after them, for a digest that is CRC-32C.
    void set_crc32c(uint32_t sum) noexcept { digest_access::set_crc32c(hash_, sum); }

    /// Errors: digest_mismatch.
    ZTENSOR_COLD result<void> finish() const {
        if (!before_) {
            return before_;
        }
        if (!is_wanted() || compare_digest(expected_, hash_) == digest_state::match) {
            return {};
        }
        return fail(errc::digest_mismatch, "the {} bytes have the digest {}, but the {} says {}",
                    {file_.index.version == version::v2 ? "decoded" : "stored", hash_.text(),
                     file_.index.is_foreign() ? "file" : "manifest",
                     in_quotes(file_.index.text(component_.digest_text))})
            .at(component_.offset);
    }

private:
    /// A digest that covers a little before the blob, such as the header of an .npy entry, is computed from there on.
    /// One that covers anything else is left to verify(); what is made when it is read is checked there.
    ZTENSOR_COLD void take_cover() {
        constexpr uint64_t most_bytes_before = 4096;
        const digest_cover cover = cover_of(file_, component_);
        const uint64_t before_bytes = component_.offset - cover.offset; // checked below
        if (cover.offset > component_.offset || before_bytes > most_bytes_before ||
            cover.length != before_bytes + component_.length ||
            source_access::is_made(*file_.source, cover.offset, cover.length)) {
            expected_ = {};
            hash_ = digester(digest::none);
            return;
        }
        std::array<byte, most_bytes_before> before;
        const span<byte> wanted(before.data(), static_cast<size_t>(before_bytes));
        before_ = file_.source->read_at(cover.offset, wanted);
        hash_.update(wanted);
    }

    const opened_file& file_;
    const component_record& component_;
    digest_parts expected_;
    digester hash_;
    result<void> before_; ///< of reading what is covered before the blob
};

/// The same of a blob in one piece.
inline result<void> check_digest(const opened_file& file, const component_record& component, bytes_view stored) {
    blob_check check(file, component);
    if (check.is_wanted()) {
        check.take(stored);
    }
    return check.finish();
}

/// As much as is read at once where it is then looked at again: half of a small second-level cache.
inline constexpr size_t cached_piece_bytes = size_t{256} << 10;

/// For prefault: what comes slowly from elsewhere should take memory as it comes.
[[nodiscard]] inline unsigned threads_for_pages(const opened_file& file) noexcept {
    return source_access::is_file(*file.source) ? file.options.threads() : 1;
}

/// Fills `destination` with bytes that a disk has to give, by many reads at once, and `check` in their order.
ZTENSOR_COLD inline result<void> read_cold(const opened_file& file, uint64_t begin, span<byte> destination,
                                           blob_check& check) {
    constexpr size_t piece_bytes = size_t{4} << 20, window_bytes = 2 * reads_at_once * piece_bytes;
    for (size_t at = 0; at < destination.size(); at += window_bytes) {
        const span<byte> window = destination.subspan(at, (std::min)(window_bytes, destination.size() - at));
        os_mutex mutex;
        result<void> failure;
        for_each_in_parallel((window.size() + piece_bytes - 1) / piece_bytes, reads_at_once, [&](size_t i) {
            const size_t first = i * piece_bytes;
            const span<byte> piece = window.subspan(first, (std::min)(piece_bytes, window.size() - first));
            if (result<void> read = file.source->read_at(begin + at + first, piece); !read) {
                const os_lock lock(mutex);
                failure = failure ? std::move(read) : std::move(failure);
            }
        });
        ZTENSOR_TRY(std::move(failure));
        if (check.is_wanted()) {
            check.take(window);
        }
    }
    return {};
}

/// Fills `destination` with stored bytes from position `from` of the blob on, and `check` with them.
inline result<void> read_checked(const opened_file& file, const component_record& component, uint64_t from,
                                 span<byte> destination, blob_check& check) {
    const bool goes_past_cache = destination.size() >= past_cache_bytes && !is_untouched(destination);
    const prefault ahead(destination, threads_for_pages(file));
    const uint64_t begin = component.offset + from;
    if (file.options.threads() != 1 && !is_at_work() &&
        source_access::is_cold(*file.source, begin, destination.size())) {
        return read_cold(file, begin, destination, check);
    }
    if (!check.is_wanted()) {
        return read_bulk(*file.source, begin, destination);
    }
    ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable, find_stable_bulk(*file.source, begin, destination.size()));
    const read_ahead bytes(file.options.threads(), *file.source, begin, destination.size());
    for (size_t at = 0; at < destination.size(); at += cached_piece_bytes) {
        const span<byte> piece = destination.subspan(at, (std::min)(cached_piece_bytes, destination.size() - at));
        if (stable) {
            const bytes_view stored = stable->subspan(at, piece.size());
            check.take(stored);
            copy_much(stored, piece, goes_past_cache);
            continue;
        }
        ZTENSOR_TRY(file.source->read_at(begin + at, piece));
        check.take(piece);
    }
    return {};
}

inline result<void> check_encoding(const opened_file& file, const component_record& component) {
    if (component.encoding) {
        return {};
    }
    return fail(errc::unsupported_encoding,
                "the blob is encoded as {}; this library decodes raw, zstd and zt.zstd-seekable/1",
                {in_quotes(file.index.text(component.encoding_word))});
}

// -- elements
//
// What a caller's element type may be read from, and the checks between a record and typed memory. SPEC.md section 4.

[[nodiscard]] ZTENSOR_COLD inline error unknown_dtype(const opened_file& file, const component_record& component) {
    return fail(errc::unknown_dtype, "the storage type {} is none that this library knows; only std::byte can be read",
                {in_quotes(file.index.text(component.dtype_word))});
}

[[nodiscard]] ZTENSOR_COLD inline error unknown_numbers(const opened_file& file, const component_record& component) {
    return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                {in_quotes(type_name(file.index, component))});
}

/// This library knows what numbers the elements are: those of the file's version, and of f8_e8m0 and what shares bytes
/// in every one. Errors: unsupported_type.
inline result<void> check_known_numbers(const opened_file& file, const component_record& component) {
    const string_view type = type_name(file.index, component);
    const bool is_known =
        component.logical_type != unknown_type ||
        (component.dtype == dtype::u8 && (type == "f8_e8m0" || ztensor::find_narrow_type(type) != nullptr));
    return is_known ? result<void>() : unknown_numbers(file, component);
}

[[nodiscard]] ZTENSOR_COLD inline error wrong_destination(uint64_t found, uint64_t expected) {
    return fail(errc::size_mismatch, "the destination has {} elements, but there are {}", {found, expected})
        .by_caller();
}

/// Memory for so many elements. Errors: size_mismatch, if the caller's has room for another number of them.
inline result<span<byte>> make_room(const element_memory& memory, uint64_t count, size_t element_bytes) {
    if (memory.resize != nullptr) {
        return memory.resize(memory.owner, static_cast<size_t>(count));
    }
    const size_t room = memory.given.size() / element_bytes;
    return count == room ? result<span<byte>>(memory.given) : wrong_destination(room, count);
}

[[nodiscard]] ZTENSOR_COLD inline error misaligned_for(size_t alignment) {
    return fail(errc::misaligned_memory,
                "the bytes do not lie at a multiple of {}, as these elements need: read them into memory of their own",
                {alignment});
}

inline result<void> check_whole_elements(uint64_t bytes, size_t element_bytes) {
    if (bytes % element_bytes == 0) {
        return {};
    }
    return fail(errc::size_mismatch, "{} bytes are no whole number of elements of {} bytes", {bytes, element_bytes});
}

/// What is stored is of the requested type. Errors: unknown_dtype, type_mismatch.
ZTENSOR_COLD inline result<void> check_stored_type(const opened_file& file, const component_record& component,
                                                   const element_request& request) {
    if (!request.storage) {
        return {};
    }
    if (!component.dtype) {
        return unknown_dtype(file, component);
    }
    const string_view type = type_name(file.index, component);
    const bool is_bool_as_byte = component.dtype == dtype::boolean && request.storage == dtype::u8;
    if (request.storage == dtype::boolean && component.dtype == dtype::u8 && type == name(dtype::boolean) &&
        component.logical_type != unknown_type) { // of version 2, where it is a logical type
        return {};
    }
    const bool is_same_storage = component.dtype == request.storage || (is_bool_as_byte && request.type.empty());
    if (is_same_storage && (request.type.empty() || request.type == type)) {
        return {};
    }
    const bool has_type = !type.empty();
    const bool asks_type = !request.type.empty();
    // read_as() would do it, but for complex numbers and types that are unknown.
    const bool is_number = !has_type || (component.logical_type < logical_types.size() &&
                                         logical_types[component.logical_type].storage_elements == 1);
    const bool asks_float = (request.storage == dtype::f32 || request.storage == dtype::f64) && !asks_type;
    return fail(errc::type_mismatch, "the elements are {}{}{}, but {}{}{} was asked for{}",
                {name(*component.dtype), has_type ? " of type " : "", has_type ? in_quotes(type) : piece(""),
                 name(*request.storage), asks_type ? " of type " : "", asks_type ? in_quotes(request.type) : piece(""),
                 is_number && asks_float ? ": read_as<float>() or <double> converts them" : ""});
}

/// The component is an array of the requested elements. Errors: unknown_dtype, type_mismatch.
inline result<void> check_element_type(const opened_file& file, const component_record& component,
                                       const element_request& request) {
    if (request.storage && component.has_no_byte_order) {
        return fail(errc::needs_byteswap, "what big-endian means is only defined for dense data");
    }
    if (request.storage && component.holds_indices) {
        return fail(errc::type_mismatch, "the blob holds indices as well as values, so it is no array of elements: use "
                                         "csr_view or coo_view, or read std::byte");
    }
    return check_stored_type(file, component, request);
}

/// How many requested elements the component holds; nothing if only decoding tells. Errors: as check_element_type;
/// unsupported_encoding, size_mismatch.
inline result<optional<uint64_t>> count_elements(const opened_file& file, const component_record& component,
                                                 const element_request& request) {
    ZTENSOR_TRY(check_element_type(file, component, request));
    ZTENSOR_TRY(check_encoding(file, component));
    const optional<uint64_t> bytes = component.decoded_length();
    if (!bytes) {
        return bytes;
    }
    ZTENSOR_TRY(check_whole_elements(*bytes, request.size_bytes));
    return optional(*bytes / request.size_bytes);
}

/// The same, if all of them may be held in memory. Errors: as count_elements; limit_exceeded, too_large_for_host.
inline result<optional<uint64_t>> count_loadable_elements(const opened_file& file, const component_record& component,
                                                          const element_request& request) {
    result<optional<uint64_t>> count = count_elements(file, component, request);
    if (!count || !*count) {
        return count;
    }
    ZTENSOR_TRY(check_memory_limit(**count * request.size_bytes, file.options));
    return count;
}

struct element_range {
    uint64_t begin = 0;
    uint64_t end = 0;
};

/// The elements of parts [first, last) of `parts` equal ones. Errors: out_of_bounds.
inline result<element_range> part_of(uint64_t elements, uint64_t first, uint64_t last, uint64_t parts) {
    if (first > last || last > parts || (parts != 0 && elements % parts != 0)) {
        return fail(errc::out_of_bounds, "parts {} to {} of {} were asked for, of {} elements",
                    {first, last, parts, elements})
            .by_caller();
    }
    const uint64_t each = parts == 0 ? 0 : elements / parts;
    return element_range{first * each, last * each};
}

/// True if the bytes of multi-byte elements are in the other order than the host's.
[[nodiscard]] constexpr bool is_foreign_order(const component_record& component) noexcept {
    return component.is_big_endian == host_is_little_endian;
}

/// The blob where it lies, if it is memory of such elements. Errors: as count_elements; not_viewable, needs_byteswap,
/// misaligned_memory.
ZTENSOR_COLD inline result<bytes_view> view_elements(const opened_file& file, const component_record& component,
                                                     const element_request& request) {
    ZTENSOR_TRY(check_element_type(file, component, request));
    if (component.is_in_planes) {
        return fail(errc::not_viewable, "its exponents and fractions are stored apart, so there is nothing to borrow: "
                                        "read it");
    }
    if (component.encoding != encoding::raw) {
        result<void> known = check_encoding(file, component);
        return !known ? std::move(known).error()
                      : fail(errc::not_viewable, "the component is compressed, so there is nothing to borrow: read it");
    }
    const optional<bytes_view> blob = mapped_blob(file, component);
    if (!blob) {
        return fail(errc::not_viewable, source_access::is_mapped(*file.source)
                                            ? "the elements do not lie in the file one after the other as they are "
                                              "(but compressed, transposed or scattered), so there is nothing to "
                                              "borrow: read them"
                                            : "the file is not mapped, so there is nothing to borrow: read it");
    }
    if (request.storage && width_bytes(*request.storage) > 1 && is_foreign_order(component)) {
        return fail(errc::needs_byteswap,
                    "the elements are stored {}-endian, and this host is not: read them, which swaps",
                    {component.is_big_endian ? "big" : "little"});
    }
    ZTENSOR_TRY(check_whole_elements(component.length, request.size_bytes));
    if (!fits_address_space(component.length)) {
        return fail(errc::too_large_for_host, "the component is larger than this host can address");
    }
    if (!blob->empty() && !is_aligned(*blob, request.alignment_bytes)) {
        return misaligned_for(request.alignment_bytes);
    }
    return *blob;
}

/// Decoded bytes of requested elements, from the file's byte order to the host's.
inline void to_host_order(const component_record& component, const element_request& request,
                          span<byte> decoded) noexcept {
    if (request.storage && is_foreign_order(component)) {
        swap_elements(decoded, width_bytes(*request.storage));
    }
}

/// Bool bytes become 0 and 1, where the version of the file lets any other byte stand for true; else those are refused.
/// SPEC.md section 4.4. `first` is the position of the first of them in the tensor. Errors: bad_bool.
inline result<void> normalise_bools(const component_record& component, span<byte> bools, uint64_t first = 0) {
    for (size_t position = 0; position < bools.size(); ++position) {
        if (bools[position] > byte{1}) {
            if (!component.any_nonzero_is_true) {
                return fail(errc::bad_bool, "element {} is a bool stored as {}, neither 0 nor 1",
                            {first + position, std::to_integer<unsigned>(bools[position])});
            }
            bools[position] = byte{1};
        }
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

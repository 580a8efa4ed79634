// SPDX-License-Identifier: MIT
//
// From one file to another, of any version to any that can hold it. Blobs are copied as they are stored wherever
// nothing about them changes. SPEC.md section 8 and section 10.
#ifndef ZTENSOR_COPY_HPP
#define ZTENSOR_COPY_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// How far a copy has come; `object` is the one that was just finished.
struct copy_progress {
    std::string_view object;
    std::uint64_t done_bytes = 0;  ///< stored, of the objects so far
    std::uint64_t total_bytes = 0; ///< stored, of all that are copied
};

/// What of a file is copied, and how.
struct copy_options {
    /// Only the objects for which this is true; all of them unless given.
    copy_options& select(std::function<bool(const object_view&)> value) { return select_ = std::move(value), *this; }
    /// The new name for a name.
    copy_options& rename(std::function<std::string(std::string_view)> value) {
        return rename_ = std::move(value), *this;
    }
    /// Called on the thread that copies: after every object, and about ten times a second while it waits for bytes of a
    /// source or sink that takes time. False stops the copy with errc::cancelled. May throw, which ends the copy.
    copy_options& progress(std::function<bool(const copy_progress&)> value) {
        return progress_ = std::move(value), *this;
    }
    /// Decodes every component and encodes it again, with the same encoding (at zstd's default level) and a digest of
    /// the same algorithm, even where it could be copied as it is. Then what is written must be what a writer of new
    /// data writes: an object with unknown words, or whose parts don't fit each other, may be refused.
    copy_options& reencode(bool value = true) { return reencode_ = value, *this; }
    /// Whether the attributes of the file itself are copied too. On unless told otherwise.
    copy_options& file_attributes(bool value) { return file_attributes_ = value, *this; }

    // What was chosen.

    [[nodiscard]] const std::function<bool(const object_view&)>& select() const noexcept { return select_; }
    [[nodiscard]] const std::function<std::string(std::string_view)>& rename() const noexcept { return rename_; }
    [[nodiscard]] const std::function<bool(const copy_progress&)>& progress() const noexcept { return progress_; }
    [[nodiscard]] bool reencodes() const noexcept { return reencode_; }
    [[nodiscard]] bool file_attributes() const noexcept { return file_attributes_; }

private:
    std::function<bool(const object_view&)> select_;
    std::function<std::string(std::string_view)> rename_;
    std::function<bool(const copy_progress&)> progress_;
    bool reencode_ = false;
    bool file_attributes_ = true;
};

/// Copies objects, their attributes and the file's attributes (added to those that `to` has) into `to`, in the order of
/// their blobs, or into version 2 in that of their new names. `to` may be of any version that can hold them; finishing
/// it is the caller's.
///
/// A blob is copied as it is stored, with its compression and digest, unless the target's version needs it otherwise:
/// big-endian data and bools of 0.1, sparse tensors between 0.1 (one blob) and later versions (parts), narrow indices
/// of 1.1 in 1.2. Those are decoded, verified and stored again with the same encoding and digest algorithm; a digest of
/// an unknown algorithm is left out then. A blob that several components share stays one, where it is copied as it is.
///
/// What has a digest is compared with it before it is copied, in whatever way, unless `from` was opened with
/// read_options::verify_digests(false); then what is copied as it is stored keeps its bytes and its digest, even if
/// they do not match. Nothing else of such bytes is looked at: bools among them may hold other bytes than 0 and 1.
/// Bools of other formats are looked at: every byte but 0 becomes 1, as NumPy and PyTorch read them, in copies, exports
/// and component_stored().
///
/// In version 2 the names of what `to` has come before those that are copied, unless write_options::any_order().
/// Between version 2 and the versions before it digests are computed again, since there they are of the decoded bytes:
/// SHA-256 stays SHA-256, and each side's light one (CRC-32C, XXH3) becomes the other's. Indices that are neither u32
/// nor u64 are widened, compressed data is compressed again on its way into version 2 and copied on its way out, and
/// quantized weights get the attributes of the other side. Refused with not_expressible, among others: layouts, types
/// and encodings that only one side knows, layouts of one's own without a name such as "vendor.layout/1" in version 2,
/// CBOR tags there, and sparse tensors whose columns don't rise or whose coordinates repeat.
///
/// Errors: not_expressible and digest_mismatch, before anything of the object is written; cancelled; those of reading
/// and of writer::add_object. After an error the objects before it are in `to`, which goes on; unless it came while a
/// blob was being copied, from the source (io_error, file_changed) or the sink: then `to` is closed, as after any
/// failure to write, and nothing of it will be seen.
result<void> copy(const reader& from, writer& to, const copy_options& options = {});

/// Copies into many files, as sharded_writer has them, in the same order. Blobs that objects share stay one where these
/// objects come to the same file. Attributes are added before the first object: later, unless there are none or
/// copy_options::file_attributes() is false, they are invalid_argument. Errors: as above, and those of
/// sharded_writer::add().
result<void> copy(const reader& from, sharded_writer& to, const copy_options& options = {});

/// Copies one object under its own name, or another. `to.add(object)` says the same. Errors: as above.
result<void> copy(const object_view& from, writer& to);
result<void> copy(const object_view& from, writer& to, std::string_view name);

/// What of a file is exported, and how.
struct export_options {
    /// Only the objects for which this is true; all of them unless given.
    export_options& select(std::function<bool(const object_view&)> value) { return select_ = std::move(value), *this; }
    /// The new name for a name.
    export_options& rename(std::function<std::string(std::string_view)> value) {
        return rename_ = std::move(value), *this;
    }
    /// Called after every tensor; its bytes are decoded ones. False stops with errc::cancelled.
    export_options& progress(std::function<bool(const copy_progress&)> value) {
        return progress_ = std::move(value), *this;
    }
    /// Dense tensors of floating-point numbers of any width, and weights in blocks of ggml, become f64, f32, f16 or
    /// bf16, each number rounded once.
    export_options& floats_as(dtype value) noexcept { return floats_as_ = value, *this; }
    /// False leaves attributes out, instead of refusing those that the format has no place for.
    export_options& attributes(bool value) noexcept { return attributes_ = value, *this; }
    /// What is waited for in the end; the file appears all at once, as one of a writer does (publish_mode::replace).
    export_options& sync(sync_level value) noexcept { return sync_ = value, *this; }

    // What was chosen.

    [[nodiscard]] const std::function<bool(const object_view&)>& select() const noexcept { return select_; }
    [[nodiscard]] const std::function<std::string(std::string_view)>& rename() const noexcept { return rename_; }
    [[nodiscard]] const std::function<bool(const copy_progress&)>& progress() const noexcept { return progress_; }
    [[nodiscard]] std::optional<dtype> floats_as() const noexcept { return floats_as_; }
    [[nodiscard]] bool attributes() const noexcept { return attributes_; }
    [[nodiscard]] sync_level sync() const noexcept { return sync_; }

private:
    std::function<bool(const object_view&)> select_;
    std::function<std::string(std::string_view)> rename_;
    std::function<bool(const copy_progress&)> progress_;
    std::optional<dtype> floats_as_;
    bool attributes_ = true;
    sync_level sync_ = sync_level::durable;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/transfer/copy_definitions.hpp>
#endif

#endif

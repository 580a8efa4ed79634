// SPDX-License-Identifier: MIT
//
// Dense tensors that are to be written in planes: whether that pays, and as which components. SPEC.md section 14.
#ifndef ZTENSOR_DETAIL_WRITE_PLANES_DRAFT_HPP
#define ZTENSOR_DETAIL_WRITE_PLANES_DRAFT_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/planes.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/draft_check.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/object_draft.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// How the components of a tensor in planes are stored, or the tensor as a whole.
struct planes_choice {
    bool are_planes = false;
    store dense; ///< if they are not
    store exponents;
    store fractions;
};

/// The same as `how`, but for the encoding.
[[nodiscard]] inline store raw_like(const store& how) {
    return store().digest(how.digest()).type(how.type());
}

/// The same for exponents, compressed.
[[nodiscard]] inline store exponents_like(const store& how) {
    store made = raw_like(how);
    draft_access::set_exponents(made);
    return made;
}

/// What compressing some elements, or one plane of them, in frames of 1 MiB gives.
class planes_trial {
public:
    planes_trial(const blob_content& elements, size_t width)
        : elements_(elements), width_(width), count_(elements.bytes.size() / width) {}

    /// Stored bytes of all elements as they are, at level 1. Errors: out_of_memory, encode_failed.
    result<uint64_t> dense() { return measure({elements_.bytes, elements_.swap_width}, {1}); }
    /// The same of a plane, at level 1 or as exponents are compressed.
    result<uint64_t> of(plane which, bool has_few_matches) { return of(which, has_few_matches, 0, count_); }

    /// The part of its size that a plane of many elements takes, as far as some small pieces of it tell: the first and
    /// the last, and others at places of which none is a power of two, as those are where rows and slabs begin.
    result<double> sample(plane which, bool has_few_matches) {
        constexpr size_t pieces = 16, size = size_t{16} << 10;
        uint64_t stored = 0;
        for (size_t i = 0; i < pieces; ++i) {
            const size_t first = i * ((count_ - size) / (pieces - 1));
            ZTENSOR_TRY_ASSIGN(const uint64_t bytes, of(which, has_few_matches, first, size));
            stored += bytes;
        }
        return static_cast<double>(stored) / static_cast<double>(pieces * size * plane_bytes(which, width_));
    }

private:
    result<uint64_t> of(plane which, bool has_few_matches, size_t first, size_t count) {
        return measure({elements_.bytes.subspan(first * width_, count * width_), elements_.swap_width, width_,
                        which == plane::fraction},
                       {1, false, has_few_matches});
    }

    result<uint64_t> measure(const blob_content& content, const frame_settings& settings) {
        uint64_t stored = 0;
        encoder_.begin(settings, 0);
        ZTENSOR_TRY(in_order_of_file(content, false, [&](bytes_view bytes, bool is_last) {
            return encoder_.encode(bytes, is_last, {&stored, count_bytes});
        }));
        return stored;
    }
    static result<void> count_bytes(void* stored, bytes_view bytes) {
        *static_cast<uint64_t*>(stored) += bytes.size();
        return {};
    }

    blob_content elements_;
    size_t width_;
    size_t count_;
    zstd_frames encoder_{1};
};

/// Whether more than one of 32 words of 8 bytes stands there again within as much as zstd looks back at level 1, so
/// that whole elements may take less than planes: as where rows come again, or slabs are zeros, but not in weights.
/// Looks at 1 MiB of each 2.5, since it reads as fast as memory only, and slabs tend to begin at powers of two. Of
/// words that differ from the one before those are looked up that end in certain bits, of noise one of 64: a word is
/// looked up wherever it stands, or nowhere.
[[nodiscard]] ZTENSOR_COLD inline bool comes_again(bytes_view elements) noexcept {
    constexpr uint32_t window_words = (uint32_t{512} << 10) / sizeof(uint64_t);
    constexpr uint64_t one_of = 32;
    constexpr uint64_t factor = 0x9e3779b97f4a7c15; // whose bits are as if drawn
    struct place {
        uint32_t end_of_product = 0;
        uint32_t position = ~window_words; // too far behind
    };
    std::array<place, 2048> last; // of which a window fills half
    constexpr uint64_t piece_words = (uint64_t{1} << 20) / sizeof(uint64_t), step_words = piece_words * 5 / 2;
    const uint64_t all_words = elements.size() / sizeof(uint64_t);
    uint64_t words = 0, runs = 0, looked_up = 0, met = 0, before = 0;
    for (uint64_t begin = 0; begin < all_words; begin += step_words) {
        const uint64_t end = (std::min)(begin + piece_words, all_words);
        words += end - begin;
        for (uint64_t i = begin; i < end; ++i) {
            uint64_t word = 0;
            std::memcpy(&word, elements.data() + i * sizeof(word), sizeof(word));
            if (word == before) {
                ++runs;
            } else if ((word & 63) == 21) {
                const uint64_t product = word * factor;
                place& known = last[static_cast<size_t>(product >> 53)];
                const place found = {static_cast<uint32_t>(product), static_cast<uint32_t>(i)};
                const bool is_near = found.position - known.position <= window_words;
                met += is_near && known.end_of_product == found.end_of_product ? 1 : 0;
                known = found;
                ++looked_up;
            }
            before = word;
        }
    }
    return runs > words / one_of || met > looked_up / one_of;
}

/// The smallest way that there is: all are tried.
ZTENSOR_COLD inline result<planes_choice> choose_smallest(planes_trial& trial, const store& how, uint64_t count,
                                                          size_t width) {
    const uint64_t fraction_bytes = count * (width - 1);
    ZTENSOR_TRY_ASSIGN(const uint64_t dense, trial.dense());
    ZTENSOR_TRY_ASSIGN(const uint64_t exponents, trial.of(plane::exponent, true));
    ZTENSOR_TRY_ASSIGN(const uint64_t fractions, trial.of(plane::fraction, false));
    ZTENSOR_TRY_ASSIGN(const uint64_t matched_exponents, // which are not to be had where fractions are noise
                       fractions < fraction_bytes ? trial.of(plane::exponent, false) : result<uint64_t>(~uint64_t{0}));
    const uint64_t planes = (std::min)(exponents, matched_exponents) + (std::min)(fractions, fraction_bytes);
    const double allowed = how.most_of_raw() * static_cast<double>(count * width);
    const bool is_raw = how.most_of_raw() > 0 && static_cast<double>((std::min)(dense, planes)) > allowed;
    planes_choice made;
    made.are_planes = planes < dense && !is_raw;
    made.dense = is_raw || dense >= count * width ? raw_like(how) : raw_like(how).zstd(1);
    made.exponents = exponents <= matched_exponents ? exponents_like(how) : raw_like(how).zstd(1);
    made.fractions = fractions < fraction_bytes ? raw_like(how).zstd(1) : raw_like(how);
    return made;
}

/// Whether elements of a storage type that has planes are best stored in these. Of few all ways are tried; of many only
/// where bytes come again, or pieces of their fractions are no noise, as those of weights are.
ZTENSOR_COLD inline result<planes_choice> choose_planes(const blob_content& elements, const store& how, size_t width) {
    constexpr double noise = 0.99;
    constexpr size_t few_bytes = size_t{4} << 20; // of which all is measured
    const uint64_t count = elements.bytes.size() / width;
    planes_trial trial(elements, width);
    if (elements.bytes.size() <= few_bytes) {
        return choose_smallest(trial, how, count, width);
    }
    ZTENSOR_TRY_ASSIGN(const double fractions, trial.sample(plane::fraction, false));
    if (fractions < noise || comes_again(elements.bytes)) {
        return choose_smallest(trial, how, count, width);
    }
    planes_choice made;
    made.are_planes = true;
    if (how.most_of_raw() > 0) {
        ZTENSOR_TRY_ASSIGN(const double exponents, trial.sample(plane::exponent, true));
        made.are_planes = exponents + static_cast<double>(width - 1) <= how.most_of_raw() * static_cast<double>(width);
    }
    made.dense = raw_like(how);
    made.exponents = exponents_like(how);
    made.fractions = raw_like(how);
    return made;
}

/// Fewer elements are kept as one blob: a second one takes as much as it spares.
inline constexpr uint64_t least_bytes_in_planes = uint64_t{64} << 10;

/// Whether a tensor that is wanted in planes may have them: of a plain type, and not too small.
[[nodiscard]] inline bool may_have_planes(dtype storage, bool has_type, uint64_t bytes) noexcept {
    return has_planes(storage) && !has_type && bytes >= least_bytes_in_planes;
}

/// The same as a single blob, which is raw if that is smaller.
[[nodiscard]] inline store without_planes(const store& how) {
    return raw_like(how).zstd_if_smaller(1, how.most_of_raw() > 0 ? how.most_of_raw() : 1.0);
}

/// Adds what the layout needs. Errors: those of check_no_planes_keys().
ZTENSOR_COLD inline result<attributes> attributes_of_planes(const attributes* given, dtype storage) {
    attributes all = given != nullptr ? *given : attributes();
    ZTENSOR_TRY(check_no_planes_keys(all));
    all.set(planes_dtype_key, name(storage));
    all.set(planes_bits_key, planes_exponent_bits);
    return all;
}

/// The tensor's elements as the two components of the layout. Borrows them. Errors: as attributes_of_planes().
ZTENSOR_COLD inline result<object_draft> draft_planes(const dense_tensor& tensor, const blob_content& elements,
                                                      const planes_choice& how) {
    object_draft draft(planes_format, tensor.dimensions);
    ZTENSOR_TRY_ASSIGN(attributes all, attributes_of_planes(tensor.about.get(), tensor.storage));
    draft.attributes(std::move(all));
    for (const plane which : {plane::exponent, plane::fraction}) {
        const store& stored = which == plane::exponent ? how.exponents : how.fractions;
        draft.component_bytes(role_of(which), dtype::u8, elements.bytes, stored);
        component_source& added = draft_access::last(draft);
        added.swap_width = elements.swap_width;
        added.plane_width = width_bytes(tensor.storage);
        added.is_fraction = which == plane::fraction;
    }
    return draft;
}

/// A dense tensor as the object that is to be written: in planes, where that is asked for and nothing is smaller.
/// Borrows the elements. Errors: as draft_planes(); encode_failed, out_of_memory.
ZTENSOR_COLD inline result<object_draft> draft_dense(const dense_tensor& tensor, const blob_content& elements) {
    store how = tensor.how;
    const optional<uint64_t> count = tensor.dimensions.element_count();
    const bool is_whole = count && checked_multiply(*count, width_bytes(tensor.storage)) == elements.bytes.size();
    if (how.is_in_planes() &&
        !(is_whole && may_have_planes(tensor.storage, tensor.type.has_value(), elements.bytes.size()))) {
        how = without_planes(how);
    }
    if (how.is_in_planes()) {
        ZTENSOR_TRY_ASSIGN(const planes_choice chosen, choose_planes(elements, how, width_bytes(tensor.storage)));
        if (chosen.are_planes) {
            return draft_planes(tensor, elements, chosen);
        }
        how = chosen.dense;
    }
    object_draft draft(format::dense, tensor.dimensions);
    if (tensor.about.get() != nullptr) {
        draft.attributes(*tensor.about.get());
    }
    draft_access::set_type(how, tensor.type.value_or(string_view()), tensor.type.has_value());
    draft.component_bytes("data", tensor.storage, elements.bytes, how);
    draft_access::last(draft).swap_width = elements.swap_width;
    return draft;
}

/// What the index says of a tensor in planes, whose components are given as exponents and fractions. Borrows.
[[nodiscard]] inline object_entry entry_of_planes(const dense_tensor& tensor, const attributes& values,
                                                  span<const component_entry> components) {
    object_entry object;
    object.name = tensor.name;
    object.shape = &tensor.dimensions;
    object.format = planes_format;
    object.attributes = &values;
    object.components = components;
    object.keeps_word = true;
    return object;
}

/// One of these components, before it is written.
[[nodiscard]] inline component_entry entry_of_plane(plane which, uint64_t count, size_t width, const store& how) {
    return entry_of_decoded(role_of(which), dtype::u8, std::nullopt, count * plane_bytes(which, width), how);
}

// -- planes in pieces

/// Takes a tensor in pieces, whose fractions go to their blob at once. Its exponents, compressed, are kept in memory
/// until that blob is complete: of bf16 a sixth of the tensor, of f32 a twelfth.
class planes_pieces {
public:
    planes_pieces(size_t width, unsigned threads, digest algorithm, bool is_version_2)
        : width_(width), encoder_(threads), exponents_(sink_, 0, false, &encoder_, algorithm, is_version_2) {
        encoder_.begin({1, is_version_2, true}, 0);
    }

    /// Bytes that were taken.
    [[nodiscard]] uint64_t decoded_bytes() const noexcept { return decoded_bytes_; }

    /// The next elements, and the end behind them if they are the `last`. A piece may end in the middle of an element.
    result<void> append(blob_writer& fractions, const blob_content& elements, bool last) {
        return in_order_of_file(elements, false, [&](bytes_view bytes, bool is_last_piece) -> result<void> {
            decoded_bytes_ += bytes.size();
            if (cut_bytes_ != 0) {
                const size_t more = (std::min<size_t>)(width_ - cut_bytes_, bytes.size());
                std::copy_n(bytes.begin(), more, cut_.begin() + static_cast<std::ptrdiff_t>(cut_bytes_));
                bytes = bytes.subspan(more);
                cut_bytes_ += more;
                if (cut_bytes_ < width_) {
                    return {};
                }
                cut_bytes_ = 0;
                ZTENSOR_TRY(put(fractions, bytes_view(cut_.data(), width_), false));
            }
            const bytes_view whole = bytes.first(bytes.size() - bytes.size() % width_);
            const bytes_view rest = bytes.subspan(whole.size());
            std::copy_n(rest.begin(), rest.size(), cut_.begin());
            cut_bytes_ = rest.size();
            return put(fractions, whole, last && is_last_piece);
        });
    }

    /// The exponents' blob, once it is ended.
    [[nodiscard]] const blob_writer& exponents() const noexcept { return exponents_; }
    [[nodiscard]] vector<byte> take_exponents() noexcept { return sink_.take(); }

private:
    result<void> put(blob_writer& fractions, bytes_view whole, bool last) {
        if (whole.empty() && !last) {
            return {};
        }
        ZTENSOR_TRY(exponents_.append({whole, 1, width_, false}, last));
        return fractions.append({whole, 1, width_, true}, last);
    }

    size_t width_;
    memory_sink sink_;
    zstd_frames encoder_;
    blob_writer exponents_;
    std::array<byte, 4> cut_{}; ///< the start of an element
    size_t cut_bytes_ = 0;
    uint64_t decoded_bytes_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

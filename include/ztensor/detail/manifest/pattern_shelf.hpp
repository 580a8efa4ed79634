// SPDX-License-Identifier: MIT
//
// What is kept of objects and components that were read, to read others that are encoded alike by pattern. SPEC.md
// section 3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PATTERN_SHELF_HPP
#define ZTENSOR_DETAIL_MANIFEST_PATTERN_SHELF_HPP

#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What is the same in every component that is encoded alike, and where the rest is in the runs of a pattern.
struct component_words {
    component_record record;
    pattern::number offset, length, uncompressed_length;
    std::uint32_t role = 0, type_word = 0, encoding_word = 0, digest_text = 0; ///< all bits of what is present, or none
    std::uint32_t run = 0;       ///< all are in, and the digits of a digest
    std::uint16_t dtype_run = 0; ///< in 1.0 it is the object's
    std::uint16_t digits_at = 0;
    std::uint8_t digits = 0;
    std::uint64_t element_bytes = 0; ///< of a known type that is not packed, else 0
    std::uint64_t base = 0;          ///< of the file that the blob lies in, and where its blobs end
    std::uint64_t data_end = ~std::uint64_t{0};
};

/// How a component is encoded.
struct component_pattern {
    pattern bytes; ///< from behind the role on
    component_words words;
};

/// How an object is encoded.
struct object_pattern {
    static constexpr std::size_t most_components = 8;

    pattern bytes; ///< from behind the name on
    object_record record;
    std::size_t format_run = 0, attributes_run = 0;
    component_words components[most_components];
    bool may_be_dense = false; ///< has the parts that a dense object must have
    bool is_raw = false;       ///< and they are as long as its elements
};

/// Patterns and which of them came after which: that one is tried first. Where little is alike, they are seldom tried,
/// and new ones seldom learned: both would take longer than the general way.
template <class Pattern, std::size_t Most>
class pattern_shelf {
public:
    /// What follows is the first of a row.
    void start() noexcept { last_ = Most; }
    /// Keeps another pattern, in place of the oldest; it is what came after the last one.
    ZTENSOR_COLD void keep(const Pattern& learned) noexcept {
        ::new (&patterns_.all[learned_ % Most]) Pattern(learned);
        follow(learned_++ % Most);
    }
    /// Whether to look for what fits what follows, and to learn from it if nothing does.
    [[nodiscard]] bool is_worth_a_try() noexcept {
        was_tried_ = trust_ != 0 || ++passed_over_ % 64 == 0;
        return was_tried_ && learned_ != 0;
    }
    [[nodiscard]] bool was_tried() const noexcept { return was_tried_; }

    /// What `read` answers for the pattern that fits: the first answer that is not null. Some have been learned.
    template <class Read>
    [[nodiscard]] const std::byte* read(const Read& read) noexcept {
        const std::size_t guess = after_[last_];
        std::size_t i = 0, next = guess;
        do {
            if (const std::byte* const end = read(patterns_.all[next])) {
                follow(next);
                trust_ += trust_ < most_trust ? 1 : 0;
                return end;
            }
            ++i;
            next = i == guess ? 0 : i;
        } while (i < Most && i < learned_);
        trust_ -= trust_ > 0 ? 1 : 0;
        return nullptr;
    }

private:
    static constexpr unsigned most_trust = 16;

    void follow(std::size_t i) noexcept {
        after_[last_] = static_cast<std::uint8_t>(i);
        last_ = i;
    }

    union slots { ///< nothing is put into one before it is needed: there are few in small files
        slots() noexcept {}
        Pattern all[Most];
    };

    slots patterns_;
    std::uint8_t after_[Most + 1] = {};
    std::size_t last_ = Most;
    std::size_t learned_ = 0;
    unsigned trust_ = most_trust; ///< more of what came last fitted than not
    unsigned passed_over_ = 0;
    bool was_tried_ = true;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

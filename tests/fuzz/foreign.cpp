// SPDX-License-Identifier: MIT
#include "fuzz/foreign.hpp"

#include "fuzz/fuzzing.hpp"
#include "fuzz/walk.hpp"

#include <ztensor/byte_source.hpp>
#include <ztensor/foreign.hpp>

#include <cstring>
#include <memory>

// A reader of JSON keeps its text and a stack, zlib a window, the search for an archive's end 64 KiB.
const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

namespace {

class content_source final : public ztensor::byte_source {
public:
    content_source(ztensor::bytes_view content, bool is_mapped) : content_(content), is_mapped_(is_mapped) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        fuzzing::require(offset <= content_.size() && destination.size() <= content_.size() - offset,
                         "nothing is read beyond the end of a source");
        if (!destination.empty()) {
            std::memcpy(destination.data(), content_.data() + offset, destination.size());
        }
        return {};
    }
    [[nodiscard]] ztensor::bytes_view mapped() const noexcept override {
        return is_mapped_ ? content_ : ztensor::bytes_view();
    }

private:
    ztensor::bytes_view content_;
    bool is_mapped_;
};

} // namespace

void fuzzing::try_foreign(ztensor::bytes_view input, const char* name) {
    const own_copy content(input);
    const auto open = [&](bool is_mapped) {
        return ztensor::open_any(std::make_shared<content_source>(content.bytes(), is_mapped), name, small_limits());
    };
    const auto file = open(true);
    const auto source = open(false);
    walk_both(content.bytes(), file, source);
    if (!source) {
        return;
    }
    std::size_t count = 0;
    for (const ztensor::object_view object : *source) {
        const auto weights = object.read_as<float>();
        require(!weights || weights->size() == object.element_count(), "there are as many weights as elements");
        if (++count == 8) {
            break;
        }
    }
}

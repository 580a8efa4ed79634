// SPDX-License-Identifier: MIT
//
// Any bytes as a file: refused with a sentence, or opened, and then everything in it can be asked for. The same
// outcome by positional reads of a source.
#include "fuzz/fuzzing.hpp"
#include "fuzz/walk.hpp"

#include <ztensor/byte_source.hpp>
#include <ztensor/reader.hpp>

#include <cstring>
#include <memory>

const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

namespace {

class memory_source final : public ztensor::byte_source {
public:
    explicit memory_source(ztensor::bytes_view content) : content_(content) {}

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

private:
    ztensor::bytes_view content_;
};

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const own_copy content(input);
    const auto file = ztensor::reader::from_bytes(content.bytes(), small_limits());
    const auto source = ztensor::reader::from_source(std::make_shared<memory_source>(content.bytes()), small_limits());
    walk_both(content.bytes(), file, source);
}

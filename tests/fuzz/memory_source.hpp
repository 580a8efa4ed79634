// SPDX-License-Identifier: MIT
//
// A source of bytes in memory that watches what is asked of it.
#ifndef ZTENSOR_TESTS_FUZZ_MEMORY_SOURCE_HPP
#define ZTENSOR_TESTS_FUZZ_MEMORY_SOURCE_HPP

#include "fuzz/fuzzing.hpp"

#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuzzing {

class memory_source final : public ztensor::byte_source {
public:
    /// If it is mapped, the content is lent, too.
    explicit memory_source(ztensor::bytes_view content, bool is_mapped = false)
        : content_(content), is_mapped_(is_mapped) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        require(offset <= content_.size() && destination.size() <= content_.size() - offset,
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

} // namespace fuzzing

#endif

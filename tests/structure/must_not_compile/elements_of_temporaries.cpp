// SPDX-License-Identifier: MIT
//
// A temporary that is no known view takes its elements with it: nothing that is kept borrows them.
#include <ztensor/attributes.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// A container of another library, whose elements are constant, as those of many views are.
struct owner {
    const float* data() const noexcept;
    std::size_t size() const noexcept;
    ~owner();
};
/// A view of another library, as the library is told below.
struct reference {
    const float* data() const noexcept;
    std::size_t size() const noexcept;
};
template <>
inline constexpr bool ztensor::is_view_v<reference> = true;

struct record {
    float values[4];
};
record made();
std::vector<float> numbers();
float sum(ztensor::span_argument<const float> elements);

void use(const ztensor::reader& model, ztensor::writer& out, ztensor::load_plan& plan) {
    const std::vector<float> kept = numbers();
    const std::vector<std::uint64_t> indices(4);
    ztensor::object_draft draft("own", {4});
#if !defined(MISUSE)
    const ztensor::span<const float> elements = kept;
    const ztensor::span<const float> of_view = reference();
    const ztensor::span<const float> of_span = ztensor::span<const float>(kept);
    const ztensor::span<const char> letters = std::string_view("abc");
    (void)elements, (void)of_view, (void)of_span, (void)letters;
    // What a call needs no longer than it takes may be a temporary,
    (void)sum(numbers());
    (void)sum(model.acquire<float>("w").value());
    (void)ztensor::digest_text(ztensor::digest::crc32c, std::vector<std::byte>(4));
    (void)out.add("w", {4}, numbers());
    (void)out.add("w", {4}, made().values);
    (void)out.add("w", {4}, model.acquire<float>("w").value());
    (void)out.add_bytes("w", {4}, ztensor::dtype::u8, std::vector<std::byte>(4));
    // and what is written later is taken over.
    draft.component("data", model.acquire<float>("w").value()).component("more", numbers());
    draft.component("list", std::initializer_list<float>{1, 2});
    draft.component_bytes("bytes", ztensor::dtype::u8, model.acquire<std::byte>("w").value());
    const ztensor::named_elements saved("w", {4}, numbers());
    (void)ztensor::save("m.zt", {saved, {"v", {4}, model.acquire<float>("w").value()}, {"u", {4}, kept}});
    (void)ztensor::csr_view<float>::from_parts({1, 4}, reference(), indices, indices);
#elif MISUSE == 1
    const ztensor::span<const float> elements = model.read<float>("w").value();
#elif MISUSE == 2
    const ztensor::span<const float> elements(model.read<float>("w").value());
#elif MISUSE == 3
    const auto elements = ztensor::span(*model.read<float>("w"));
#elif MISUSE == 4
    const ztensor::span<const float> elements = model.acquire<float>("w").value();
#elif MISUSE == 5
    const ztensor::span<const float> elements = made().values;
#elif MISUSE == 6
    const ztensor::span<const float> elements = owner();
#elif MISUSE == 7
    (void)ztensor::csr_view<float>::from_parts({1, 4}, model.acquire<float>("w").value(), indices, indices);
#elif MISUSE == 8
    (void)ztensor::coo_view<float>::from_parts({4}, made().values, indices);
#elif MISUSE == 9
    (void)ztensor::reader::from_bytes(model.acquire<std::byte>("w").value());
#elif MISUSE == 10
    (void)ztensor::attributes_view(model.acquire<std::byte>("w").value());
#elif MISUSE == 11 // the destination is a temporary, and gone before the plan runs: keep it in a variable
    (void)plan.add("w", made().values);
#elif MISUSE == 12 // the array is a temporary, and gone before it is written: keep it in a variable, or give a std::array
    draft.component("data", made().values);
#elif MISUSE == 13
    draft.component_bytes("data", ztensor::dtype::u8, ztensor::bytes_view(std::vector<std::byte>(4)));
#elif MISUSE == 14 // the array is a temporary, and gone before it is written: keep it in a variable, or give a std::array
    const ztensor::named_elements saved("w", {4}, made().values);
#endif
    (void)plan;
}

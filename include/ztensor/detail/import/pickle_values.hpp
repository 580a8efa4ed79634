// SPDX-License-Identifier: MIT
//
// Values of a pickle: the names whose meaning is known, the arenas that hold what a pickle makes, and what all of it
// together may take.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_VALUES_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_VALUES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pickle globals
//
// The closed list of names whose meaning is known, and what each stands for. Nothing on it is ever run: each is a row
// of a table. What a pickle makes by other names stays an object that is not made.

enum class pickle_role : uint8_t {
    dictionary,      ///< makes one, empty or of its argument
    list,            ///< likewise
    first,           ///< is the first of its arguments, which is a container
    bytes,           ///< makes bytes of a text, or is those that it is made of
    text,            ///< is the text that it is made of
    tensor,          ///< makes a tensor of a typed storage
    tensor_of_dtype, ///< makes a tensor of an untyped storage and a dtype
    quantized_tensor,
    sparse_tensor,
    meta_tensor,
    parameter,       ///< is the tensor that it is made of
    of_type,         ///< calls another function, whose result gets a class
    storage,         ///< the class of a typed storage
    untyped_storage, ///< of bytes
    dtype,           ///< a constant
    scheme,          ///< of quantization, a constant
    numpy_array,     ///< makes an array or a scalar of NumPy
    numpy_dtype,     ///< makes the type of its elements
};

struct pickle_global {
    string_view module;
    string_view name;
    pickle_role role;
    string_view dtype = {}; ///< in the words of 1.2, like the next
    string_view type = {};
    uint8_t element_bytes = 0; ///< of PyTorch's element
};

inline constexpr pickle_global pickle_globals[] = {
    {"collections", "OrderedDict", pickle_role::dictionary},
    {"collections", "Counter", pickle_role::dictionary},
    {"collections", "defaultdict", pickle_role::dictionary},
    {"collections", "deque", pickle_role::list},
    {"builtins", "set", pickle_role::list},
    {"builtins", "frozenset", pickle_role::list},
    {"builtins", "list", pickle_role::list},
    {"builtins", "tuple", pickle_role::list},
    {"builtins", "dict", pickle_role::dictionary},
    {"builtins", "bytes", pickle_role::bytes},
    {"builtins", "bytearray", pickle_role::bytes},
    {"_codecs", "encode", pickle_role::bytes},
    {"numpy", "dtype", pickle_role::numpy_dtype},
    {"numpy.core.multiarray", "_reconstruct", pickle_role::numpy_array},
    {"numpy.core.multiarray", "scalar", pickle_role::numpy_array},
    {"numpy.core.numeric", "_frombuffer", pickle_role::numpy_array},
    {"numpy._core.multiarray", "_reconstruct", pickle_role::numpy_array},
    {"numpy._core.multiarray", "scalar", pickle_role::numpy_array},
    {"numpy._core.numeric", "_frombuffer", pickle_role::numpy_array},
    {"torch", "Size", pickle_role::first},
    {"torch", "device", pickle_role::text},
    {"torch.serialization", "_get_layout", pickle_role::text},
    {"torch.jit._pickle", "build_intlist", pickle_role::first},
    {"torch.jit._pickle", "build_tensorlist", pickle_role::first},
    {"torch.jit._pickle", "build_doublelist", pickle_role::first},
    {"torch.jit._pickle", "build_boollist", pickle_role::first},
    {"torch.jit._pickle", "restore_type_tag", pickle_role::first},
    {"torch._utils", "_rebuild_tensor", pickle_role::tensor},
    {"torch._utils", "_rebuild_tensor_v2", pickle_role::tensor},
    {"torch._utils", "_rebuild_tensor_v3", pickle_role::tensor_of_dtype},
    {"torch._utils", "_rebuild_qtensor", pickle_role::quantized_tensor},
    {"torch._utils", "_rebuild_sparse_tensor", pickle_role::sparse_tensor},
    {"torch._utils", "_rebuild_sparse_csr_tensor", pickle_role::sparse_tensor},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", pickle_role::meta_tensor},
    {"torch._utils", "_rebuild_parameter", pickle_role::parameter},
    {"torch._utils", "_rebuild_parameter_with_state", pickle_role::parameter},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", pickle_role::parameter},
    {"torch.nn.parameter", "Parameter", pickle_role::parameter},
    {"torch._tensor", "_rebuild_from_type_v2", pickle_role::of_type},
    {"torch", "DoubleStorage", pickle_role::storage, "f64", "", 8},
    {"torch", "FloatStorage", pickle_role::storage, "f32", "", 4},
    {"torch", "HalfStorage", pickle_role::storage, "f16", "", 2},
    {"torch", "BFloat16Storage", pickle_role::storage, "bf16", "", 2},
    {"torch", "LongStorage", pickle_role::storage, "i64", "", 8},
    {"torch", "IntStorage", pickle_role::storage, "i32", "", 4},
    {"torch", "ShortStorage", pickle_role::storage, "i16", "", 2},
    {"torch", "CharStorage", pickle_role::storage, "i8", "", 1},
    {"torch", "ByteStorage", pickle_role::storage, "u8", "", 1},
    {"torch", "BoolStorage", pickle_role::storage, "bool", "", 1},
    {"torch", "ComplexFloatStorage", pickle_role::storage, "f32", "complex64", 8},
    {"torch", "ComplexDoubleStorage", pickle_role::storage, "f64", "complex128", 16},
    {"torch", "ComplexHalfStorage", pickle_role::storage, "f16", "complex32", 4},
    {"torch", "QInt8Storage", pickle_role::storage, "i8", "", 1},
    {"torch", "QUInt8Storage", pickle_role::storage, "u8", "", 1},
    {"torch", "QInt32Storage", pickle_role::storage, "i32", "", 4},
    {"torch", "QUInt4x2Storage", pickle_role::storage, "u8", "", 1},
    {"torch", "QUInt2x4Storage", pickle_role::storage, "u8", "", 1},
    {"torch", "UntypedStorage", pickle_role::untyped_storage, "u8", "", 1},
    {"torch.storage", "UntypedStorage", pickle_role::untyped_storage, "u8", "", 1},
    {"torch", "float64", pickle_role::dtype, "f64", "", 8},
    {"torch", "float32", pickle_role::dtype, "f32", "", 4},
    {"torch", "float16", pickle_role::dtype, "f16", "", 2},
    {"torch", "bfloat16", pickle_role::dtype, "bf16", "", 2},
    {"torch", "int64", pickle_role::dtype, "i64", "", 8},
    {"torch", "int32", pickle_role::dtype, "i32", "", 4},
    {"torch", "int16", pickle_role::dtype, "i16", "", 2},
    {"torch", "int8", pickle_role::dtype, "i8", "", 1},
    {"torch", "uint64", pickle_role::dtype, "u64", "", 8},
    {"torch", "uint32", pickle_role::dtype, "u32", "", 4},
    {"torch", "uint16", pickle_role::dtype, "u16", "", 2},
    {"torch", "uint8", pickle_role::dtype, "u8", "", 1},
    {"torch", "bool", pickle_role::dtype, "bool", "", 1},
    {"torch", "complex32", pickle_role::dtype, "f16", "complex32", 4},
    {"torch", "qint8", pickle_role::dtype, "i8", "", 1},
    {"torch", "quint8", pickle_role::dtype, "u8", "", 1},
    {"torch", "qint32", pickle_role::dtype, "i32", "", 4},
    {"torch", "per_tensor_affine", pickle_role::scheme},
    {"torch", "per_channel_affine", pickle_role::scheme},
    {"torch", "per_channel_affine_float_qparams", pickle_role::scheme},
    {"torch", "complex64", pickle_role::dtype, "f32", "complex64", 8},
    {"torch", "complex128", pickle_role::dtype, "f64", "complex128", 16},
    {"torch", "float8_e4m3fn", pickle_role::dtype, "u8", "f8_e4m3fn", 1},
    {"torch", "float8_e5m2", pickle_role::dtype, "u8", "f8_e5m2", 1},
    {"torch", "float8_e4m3fnuz", pickle_role::dtype, "u8", "f8_e4m3fnuz", 1},
    {"torch", "float8_e5m2fnuz", pickle_role::dtype, "u8", "f8_e5m2fnuz", 1},
    {"torch", "float8_e8m0fnu", pickle_role::dtype, "u8", "f8_e8m0", 1},
    {"torch", "float4_e2m1fn_x2", pickle_role::dtype, "u8", "f4_e2m1fn_x2", 1},
};

/// Null for a name that is not on the list. Python 2 calls its own names otherwise, and storages of other devices have
/// the names of those of the CPU.
[[nodiscard]] constexpr const pickle_global* find_pickle_global(string_view module, string_view name) noexcept {
    const bool is_of_device = module == "torch.cuda";
    const string_view known = module == "__builtin__" ? "builtins" : is_of_device ? "torch" : module;
    for (const pickle_global& each : pickle_globals) {
        if (each.name == name && each.module == known && (!is_of_device || each.role == pickle_role::storage)) {
            return &each;
        }
    }
    return nullptr;
}

// -- block array

/// Bytes that may still be allocated for what is made of a header: it can't make more memory than so many times its own
/// size. Code that allocates asks is_exceeded(), and refuses.
class import_budget {
public:
    explicit import_budget(uint64_t most_bytes) noexcept : left_(most_bytes) {}

    /// False if so many are not left.
    bool take(uint64_t bytes) noexcept {
        is_exceeded_ = is_exceeded_ || bytes > left_;
        left_ -= is_exceeded_ ? 0 : bytes;
        return !is_exceeded_;
    }
    [[nodiscard]] bool is_exceeded() const noexcept { return is_exceeded_; }

private:
    uint64_t left_;
    bool is_exceeded_ = false;
};

/// Records that are made of a header while it is read, in blocks that never move. Grows and shrinks at its end.
template <class T>
class block_array {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](size_t i) noexcept { return blocks_[i / block_items][i % block_items]; }
    [[nodiscard]] const T& operator[](size_t i) const noexcept { return blocks_[i / block_items][i % block_items]; }
    [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

    /// Takes a block from the budget where the last one is full.
    void push_back(const T& item, import_budget& budget) {
        if (size_ == blocks_.size() * block_items) {
            budget.take(block_items * sizeof(T));
            blocks_.push_back(std::make_unique<T[]>(block_items));
        }
        (*this)[size_++] = item;
    }
    /// Blocks stay for what comes next.
    void truncate(size_t size) noexcept { size_ = size; }

private:
    static constexpr size_t block_items = 2048;

    vector<std::unique_ptr<T[]>> blocks_;
    size_t size_ = 0;
};

// -- pickled
//
// What a pickle says once it is read: plain values, containers of them, and tensors as descriptions. Values are small
// and point into arenas; texts stay where they are in the pickle.

enum class pickle_kind : uint8_t {
    none,
    boolean,
    integer,
    long_integer, ///< of more than 64 bits: its bytes
    number,
    text,
    byte_string,
    tuple,
    list,
    dictionary,
    global,
    storage,
    tensor,
    set,
    object,         ///< of a class or function that is not known, never made
    unknown_global, ///< a name outside of pickle_globals
    unnamed,        ///< as the key of an object's part: the part has a number, but no name
    spliced,        ///< likewise: what the part holds belongs to the object itself
    unset,          ///< a place of the memo that nothing was remembered in
};

[[nodiscard]] constexpr string_view name(pickle_kind kind) noexcept {
    constexpr string_view names[] = {"None",     "a bool",  "an int",    "an int of many bytes",
                                     "a float",  "a text",  "bytes",     "a tuple",
                                     "a list",   "a dict",  "a global",  "a storage",
                                     "a tensor", "a set",   "an object", "an unknown global",
                                     "unnamed",  "spliced", "unset"};
    return names[static_cast<size_t>(kind)];
}

/// Eight bytes: numbers and texts stay in the pickle, and what holds others is a place in an arena.
struct pickle_value {
    pickle_kind kind = pickle_kind::none;
    uint8_t width = 0;       ///< of an integer, its bytes; of a text and its like, those of its length
    bool is_signed = false;  ///< of an integer
    bool is_decoded = false; ///< it lies in pickled::decoded, not in the pickle
    uint32_t place = 0;      ///< in the pickle, or in an arena; of a bool itself
};
static_assert(sizeof(pickle_value) == 8);

[[nodiscard]] constexpr pickle_value value_of(pickle_kind kind, size_t place = 0, size_t width = 0,
                                              bool is_signed = false) noexcept {
    return {kind, static_cast<uint8_t>(width), is_signed, false, static_cast<uint32_t>(place)};
}

[[nodiscard]] constexpr bool holds_values(pickle_kind kind) noexcept {
    return kind == pickle_kind::tuple || kind == pickle_kind::list || kind == pickle_kind::dictionary ||
           kind == pickle_kind::set || kind == pickle_kind::object;
}

/// A list or a dictionary: runs of items, as they were added.
struct pickle_container {
    uint32_t first = 0; ///< place of the first run; 0 for none
    uint32_t last = 0;
};

struct pickle_storage {
    pickle_value key;     ///< of the archive's entry
    uint64_t bytes = 0;   ///< of the whole that the key names
    uint16_t element = 0; ///< the storage's class, in pickle_globals
    bool is_meta = false; ///< it has no bytes
    uint32_t view = 0;    ///< a tuple's place: a key, the first element that is shown, and how many; 0 for all
};

/// What a pickle calls by its module and its name, outside of pickle_globals.
struct pickle_name {
    string_view module;
    string_view name;
};

/// An object that was not made: its class or the function that would make it, and a dictionary of what it holds.
struct pickle_object {
    pickle_value type;  ///< a name: what would make it, or what would make that
    uint32_t parts = 0; ///< a container
};

enum class pickle_form : uint8_t {
    dense,
    conjugated,
    negated,
    conjugated_and_negated,
    quantized, ///< behind the strides is a tuple of its scheme, scale and zero point
    sparse,
    meta,           ///< a shape without elements
    too_many_sizes, ///< of more than max_rank dimensions
};

/// Small, since there may be very many: what it is made of stays where it is.
struct pickle_tensor {
    uint32_t element = 0; ///< the storage's class, or a dtype, in pickle_globals
    uint32_t storage = 0;
    uint32_t arguments = 0; ///< place of a tuple: storage, offset, sizes, strides, and more; of a sparse one its
                            ///< layout, and a tuple of what it is made of
    pickle_form form = pickle_form::dense;
};

[[nodiscard]] inline error pickle_takes_too_much() {
    return fail(errc::limit_exceeded, "the pickle makes more of its bytes than a checkpoint does: more than four times "
                                      "as much memory as it takes itself, and 32 MiB");
}

/// The arenas. What is added to them may exceed the budget a little: check_limits() says so.
class pickled {
public:
    /// A pickle, or what says as much as one, takes `bytes`. A value of one byte takes eight here, and so does what is
    /// remembered of it: 32 MiB are for a million of them, and for blocks that are begun.
    pickled(bytes_view pickle, uint64_t bytes, uint64_t more_memory = 0)
        : source(pickle), budget(3 * bytes + (uint64_t{32} << 20) + more_memory) {
        add_run(0, false, [](size_t) { return pickle_value(); });
    }

    bytes_view source;
    pickle_value root;
    /// Runs of items: how many there are, in a list or dictionary where the next run is, and the items (of a dictionary
    /// key, value, key, value, ...). The first is a tuple of none.
    block_array<pickle_value> values;
    block_array<pickle_container> containers;
    block_array<pickle_storage> storages;
    block_array<pickle_tensor> tensors;
    block_array<pickle_name> names;
    block_array<pickle_object> objects;
    vector<byte> decoded;  ///< values that do not stand in the pickle as they are
    size_t item_count = 0; ///< of all runs
    import_budget budget;

    // -- what they hold

    [[nodiscard]] bytes_view bytes_of(const pickle_value& value) const noexcept {
        const bytes_view from = bytes_with(value);
        const auto size = static_cast<size_t>(load_little(from.data() + value.place, value.width));
        return from.subspan(value.place + value.width, size);
    }
    [[nodiscard]] string_view text_of(const pickle_value& value) const noexcept { return as_text(bytes_of(value)); }
    /// "" of what is no text.
    [[nodiscard]] string_view text_or_none(const pickle_value& value) const noexcept {
        return value.kind == pickle_kind::text ? text_of(value) : string_view();
    }
    [[nodiscard]] int64_t integer_of(const pickle_value& value) const noexcept {
        uint64_t bits = value.width == 0 ? 0 : load_little(bytes_with(value).data() + value.place, value.width);
        bits = value.is_signed && value.width != 0 ? extend_sign(bits, value.width) : bits;
        return bits_as<int64_t>(bits);
    }
    [[nodiscard]] double number_of(const pickle_value& value) const noexcept {
        return bits_as<double>(load_big_64(bytes_with(value).data() + value.place));
    }
    /// An integer that is not negative, and what it is.
    [[nodiscard]] bool is_size(const pickle_value& value) const noexcept {
        return value.kind == pickle_kind::integer && integer_of(value) >= 0;
    }
    [[nodiscard]] uint64_t size_of(const pickle_value& value) const noexcept {
        return static_cast<uint64_t>(integer_of(value));
    }

    /// Of a tuple.
    [[nodiscard]] size_t count_of(const pickle_value& tuple) const noexcept { return values[tuple.place].place; }
    [[nodiscard]] const pickle_value& item_of(const pickle_value& tuple, size_t i) const noexcept {
        return values[tuple.place + 1 + i];
    }
    /// None where it is no tuple of so many.
    [[nodiscard]] pickle_value item_or_none(const pickle_value& tuple, size_t i) const noexcept {
        const bool is_there = tuple.kind == pickle_kind::tuple && i < count_of(tuple);
        return is_there ? item_of(tuple, i) : pickle_value();
    }
    [[nodiscard]] bool is_tuple_of(const pickle_value& value, size_t count) const noexcept {
        return value.kind == pickle_kind::tuple && count_of(value) == count;
    }
    [[nodiscard]] bool is_tuple_of_sizes(const pickle_value& value) const noexcept {
        bool are_sizes = value.kind == pickle_kind::tuple;
        for (size_t i = 0; are_sizes && i < count_of(value); ++i) {
            are_sizes = is_size(item_of(value, i));
        }
        return are_sizes;
    }
    [[nodiscard]] vector<uint64_t> sizes_of(const pickle_value& tuple) const {
        vector<uint64_t> sizes(count_of(tuple));
        for (size_t i = 0; i < sizes.size(); ++i) {
            sizes[i] = size_of(item_of(tuple, i));
        }
        return sizes;
    }
    /// The i-th of what a tensor is made of.
    [[nodiscard]] const pickle_value& argument_of(const pickle_tensor& tensor, size_t i) const noexcept {
        return values[tensor.arguments + 1 + i];
    }
    /// The items of a list, a set or a dictionary, or the parts of an object.
    [[nodiscard]] uint32_t container_of(const pickle_value& value) const noexcept {
        return value.kind == pickle_kind::object ? objects[value.place].parts : value.place;
    }

    // -- what is added to them

    /// Errors: limit_exceeded. What torch.save needs is far below.
    result<void> check_limits(size_t more_values = 0) const {
        constexpr size_t most_containers = size_t{1} << 22, most_values = size_t{1} << 24;
        if (budget.is_exceeded()) {
            return pickle_takes_too_much();
        }
        if (containers.size() > most_containers) {
            return fail(errc::limit_exceeded, "the pickle holds more than {} lists and dictionaries",
                        {most_containers});
        }
        return item_count + more_values <= most_values
                   ? result<void>()
                   : fail(errc::limit_exceeded, "the pickle holds more than {} values", {most_values});
    }

    /// A run of `count` items, of which item(i) is the i-th; one that may go on is for a list or a dictionary.
    template <class Item>
    size_t add_run(size_t count, bool may_go_on, const Item& item) {
        const size_t place = values.size();
        values.push_back(value_of(pickle_kind::none, count), budget);
        if (may_go_on) {
            values.push_back({}, budget);
        }
        for (size_t i = 0; i < count; ++i) {
            values.push_back(item(i), budget);
        }
        item_count += count;
        return place;
    }
    [[nodiscard]] pickle_value make_tuple(std::initializer_list<pickle_value> items) {
        return value_of(pickle_kind::tuple, add_run(items.size(), false, [&](size_t i) { return items.begin()[i]; }));
    }
    /// Integers that stand in no pickle.
    [[nodiscard]] pickle_value make_sizes(span<const uint64_t> sizes) {
        return value_of(pickle_kind::tuple,
                        add_run(sizes.size(), false, [&](size_t i) { return make_integer(sizes[i]); }));
    }

    /// An empty list, set or dictionary, or the parts of an object.
    [[nodiscard]] pickle_value make_container(pickle_kind kind) {
        containers.push_back({}, budget);
        return value_of(kind, containers.size() - 1);
    }
    /// Appends a run of items to a list, set, dictionary or object.
    template <class Item>
    void append(const pickle_value& to, size_t count, const Item& item) {
        const auto run = static_cast<uint32_t>(add_run(count, true, item));
        pickle_container& items = containers[container_of(to)];
        if (items.first == 0) {
            items.first = run;
        } else {
            values[items.last + 1].place = run;
        }
        items.last = run;
    }
    void append_pair(const pickle_value& to, const pickle_value& key, const pickle_value& value) {
        append(to, 2, [&](size_t i) { return i == 0 ? key : value; });
    }
    /// An object of a class or function that is not known, or that makes nothing we know: what it holds is kept,
    /// nothing is made.
    [[nodiscard]] pickle_value make_object(const pickle_value& type) {
        const pickle_value parts = make_container(pickle_kind::dictionary);
        const bool is_of_object = type.kind == pickle_kind::object; // of one that is not made either
        objects.push_back({is_of_object ? objects[type.place].type : type, parts.place}, budget);
        return value_of(pickle_kind::object, objects.size() - 1);
    }
    /// What `part` holds belongs to the object itself.
    void splice(const pickle_value& object, const pickle_value& part) {
        append_pair(object, value_of(pickle_kind::spliced), part);
    }

    [[nodiscard]] pickle_value make_tensor(const pickle_tensor& tensor) {
        tensors.push_back(tensor, budget);
        return value_of(pickle_kind::tensor, tensors.size() - 1);
    }
    [[nodiscard]] pickle_value make_storage(const pickle_storage& storage) {
        storages.push_back(storage, budget);
        return value_of(pickle_kind::storage, storages.size() - 1);
    }
    /// A dense tensor of a storage of its own, that no pickle describes; as many strides as sizes.
    [[nodiscard]] pickle_value make_tensor(const pickle_storage& storage, uint64_t offset, span<const uint64_t> sizes,
                                           span<const uint64_t> strides) {
        pickle_tensor tensor;
        tensor.element = storage.element;
        tensor.storage = make_storage(storage).place;
        tensor.form = storage.is_meta ? pickle_form::meta : pickle_form::dense;
        tensor.arguments =
            make_tuple({pickle_value(), make_integer(offset), make_sizes(sizes), make_sizes(strides)}).place;
        return make_tensor(tensor);
    }

    /// A name, whether it is on the list or not. Both texts lie in the pickle.
    [[nodiscard]] pickle_value find_global(string_view module, string_view name) {
        if (const pickle_global* const known = find_pickle_global(module, name)) {
            return value_of(pickle_kind::global, static_cast<size_t>(known - pickle_globals));
        }
        names.push_back({module, name}, budget);
        return value_of(pickle_kind::unknown_global, names.size() - 1);
    }

    /// Bytes that do not stand in the pickle; none of them where the budget is exceeded.
    [[nodiscard]] pickle_value add_decoded(pickle_kind kind, bytes_view content) {
        constexpr size_t length_bytes = 8;
        constexpr size_t most_bytes = size_t{1} << 30; // positions have 32 bits
        const size_t place = decoded.size();
        const size_t size = length_bytes + content.size();
        // A vector that grows takes twice as much.
        if (!budget.take(size > most_bytes - place ? ~uint64_t{0} : 2 * uint64_t{size})) {
            return {};
        }
        decoded.resize(place + size);
        store_little(content.size(), decoded.data() + place, length_bytes);
        std::copy(content.begin(), content.end(), decoded.end() - static_cast<std::ptrdiff_t>(content.size()));
        pickle_value value = value_of(kind, place, length_bytes);
        value.is_decoded = true;
        return value;
    }
    /// An integer or a number that does not stand in the pickle, by its 8 bytes as they would stand there.
    [[nodiscard]] pickle_value add_eight(pickle_kind kind, bytes_view content) {
        pickle_value value = add_decoded(kind, content);
        value.place += value.width; // behind the length
        value.is_signed = true;
        return value;
    }
    [[nodiscard]] pickle_value make_integer(uint64_t number) {
        byte bytes[8];
        store_little(number, bytes, sizeof bytes);
        return add_eight(pickle_kind::integer, bytes);
    }

private:
    [[nodiscard]] bytes_view bytes_with(const pickle_value& value) const noexcept {
        return value.is_decoded ? bytes_view(decoded) : source;
    }
};

/// Goes through the items of a tuple, a list, a set, a dictionary or the parts of an object.
class pickle_items {
public:
    pickle_items(const pickled& from, const pickle_value& of) noexcept
        : from_(&from), is_tuple_(of.kind == pickle_kind::tuple),
          run_(is_tuple_ ? of.place : from.containers[from.container_of(of)].first) {}

    /// Null behind the last one.
    [[nodiscard]] const pickle_value* next() noexcept {
        while (run_ != 0 && at_ == from_->values[run_].place) {
            run_ = is_tuple_ ? 0 : from_->values[run_ + 1].place;
            at_ = 0;
        }
        return run_ != 0 ? &from_->values[run_ + (is_tuple_ ? 1 : 2) + at_++] : nullptr;
    }

private:
    const pickled* from_;
    bool is_tuple_;
    size_t run_; ///< 0: none is left
    size_t at_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

// SPDX-License-Identifier: MIT
//
// The calls of MPI that the library makes: at most 1 GiB in each, their errors as ours, and errors that all ranks agree
// on before the next call that waits for others. All calls are made on the caller's thread.
#ifndef ZTENSOR_DETAIL_MPI_COMMUNICATOR_HPP
#define ZTENSOR_DETAIL_MPI_COMMUNICATOR_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

// The C++ bindings, which left the standard with MPI-3, are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#undef OMPI_SKIP_MPICXX
#undef MPICH_SKIP_MPICXX

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// No call moves more: counts are 32-bit numbers with a sign, and implementations fail well below 2^31.
inline constexpr size_t most_message_bytes = size_t{1} << 30;

/// What an MPI call returned. Unless the program set another handler, MPI itself ends it where a call fails.
[[nodiscard]] inline result<void> mpi_done(int code, const char* call) {
    if (code == MPI_SUCCESS) {
        return {};
    }
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    return fail(errc::io_error, "{} failed: {}", {call, string_view(text)});
}

/// Runs `call() -> result<T>`, a step of this rank alone: whatever it throws is an error, which others can be told of.
template <class Call>
[[nodiscard]] auto guard_rank(const Call& call) -> std::invoke_result_t<const Call&> {
#if ZTENSOR_HAS_EXCEPTIONS
    try {
        return guard_memory(call);
    } catch (const std::exception& thrown) {
        return fail(errc::io_error, "an exception was thrown: {}", {string_view(thrown.what())});
    } catch (...) {
        return fail(errc::io_error, "an exception was thrown");
    }
#else
    return call();
#endif
}

// -- message

/// Numbers and texts on their way to other ranks.
class message {
public:
    message() = default;
    explicit message(vector<byte> received) noexcept : bytes_(std::move(received)) {}

    void put(uint64_t number) {
        bytes_.resize(bytes_.size() + 8);
        store_little(number, &bytes_[bytes_.size() - 8], 8);
    }
    void put(bytes_argument bytes) {
        put(uint64_t{bytes.size()});
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void put(string_view text) { put(as_bytes(text)); }

    /// In the order in which they were put. Of a message that has ended, 0 and nothing.
    [[nodiscard]] uint64_t number() noexcept {
        if (bytes_.size() - place_ < 8) {
            return 0;
        }
        place_ += 8;
        return load_little(&bytes_[place_ - 8], 8);
    }
    [[nodiscard]] bytes_view bytes() noexcept {
        const auto size = static_cast<size_t>((std::min<uint64_t>)(number(), bytes_.size() - place_));
        place_ += size;
        return bytes_view(bytes_).subspan(place_ - size, size);
    }
    [[nodiscard]] string_view text() noexcept { return as_text(bytes()); }
    [[nodiscard]] bool has_ended() const noexcept { return place_ == bytes_.size(); }

    [[nodiscard]] vector<byte>& all() noexcept { return bytes_; }

private:
    vector<byte> bytes_;
    size_t place_ = 0;
};

// -- error record

/// An error in memory of one size, so that sending it allocates none. Long texts are cut.
class error_record {
public:
    error_record() noexcept = default;
    error_record(const error& why, int rank) noexcept {
        static_cast<void>(guard_memory([&]() -> result<void> {
            const std::error_code os = why.os_error();
            const bool is_known = os.category() == std::generic_category() || os.category() == std::system_category();
            numbers_[0] = static_cast<uint64_t>(why.code());
            numbers_[1] = why.kind() == kind(why.code()) ? 0u : why.kind() == error_kind::usage ? 1u : 2u;
            numbers_[2] = why.offset() ? *why.offset() + 1 : 0;
            numbers_[3] = is_known ? static_cast<uint32_t>(os.value()) : 0;
            numbers_[4] = os.category() == std::system_category() ? 1u : 0u;
            put(0, why.path());
            put(1, why.object());
            put(2, why.component());
            put(3, sentence("on rank {}: {}", {rank, why.sentence()}));
            return {};
        }));
    }

    [[nodiscard]] error get() const noexcept {
        error why = error(static_cast<errc>(numbers_[0]), string(text(3)))
                        .in_component(text(2))
                        .in_object(text(1))
                        .in_file(text(0));
        why = numbers_[2] != 0 ? std::move(why).at(numbers_[2] - 1) : std::move(why);
        why = numbers_[1] == 1 ? std::move(why).by_caller() : numbers_[1] == 2 ? std::move(why).by_file() : why;
        const auto value = static_cast<int>(static_cast<uint32_t>(numbers_[3]));
        return value == 0 ? why
                          : std::move(why).because(
                                {value, numbers_[4] != 0 ? std::system_category() : std::generic_category()});
    }

private:
    static constexpr size_t text_bytes = 1000;

    void put(size_t place, string_view text) noexcept {
        const size_t size = (std::min)(text.size(), text_bytes - 1);
        std::memcpy(texts_[place], text.data(), size);
        texts_[place][size] = '\0';
    }
    [[nodiscard]] string_view text(size_t place) const noexcept { return texts_[place]; }

    uint64_t numbers_[5] = {static_cast<uint64_t>(errc::out_of_memory)};
    char texts_[4][text_bytes] = {};
};

// -- communicator

/// The ranks that work together. Every member that is collective says so: all ranks call it, in the same order.
class communicator {
public:
    /// Errors: invalid_argument.
    ZTENSOR_COLD static result<communicator> of(MPI_Comm comm) {
        int is_initialized = 0;
        int is_finalized = 0;
        ZTENSOR_TRY(mpi_done(MPI_Initialized(&is_initialized), "MPI_Initialized"));
        ZTENSOR_TRY(mpi_done(MPI_Finalized(&is_finalized), "MPI_Finalized"));
        if (is_initialized == 0 || is_finalized != 0 || comm == MPI_COMM_NULL) {
            return fail(errc::invalid_argument, "there is no communicator: MPI is to be initialized, and not finalized")
                .by_caller();
        }
        communicator made;
        made.comm_ = comm;
        ZTENSOR_TRY(mpi_done(MPI_Comm_rank(comm, &made.rank_), "MPI_Comm_rank"));
        ZTENSOR_TRY(mpi_done(MPI_Comm_size(comm, &made.size_), "MPI_Comm_size"));
        return made;
    }

    /// Collective. The ranks of this rank's host, which share its memory. The communicator is freed with the last copy,
    /// and its errors are returned.
    ZTENSOR_COLD result<communicator> of_host() const {
        MPI_Comm made = MPI_COMM_NULL;
        ZTENSOR_TRY(mpi_done(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &made),
                             "MPI_Comm_split_type"));
        ZTENSOR_TRY_ASSIGN(communicator host, owning(made));
        ZTENSOR_TRY(mpi_done(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
        return host;
    }
    /// Collective. The same ranks, whose messages to each other no call of the program can receive.
    ZTENSOR_COLD result<communicator> duplicate() const {
        MPI_Comm made = MPI_COMM_NULL;
        ZTENSOR_TRY(mpi_done(MPI_Comm_dup(comm_, &made), "MPI_Comm_dup"));
        return owning(made);
    }

    [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] bool is_root() const noexcept { return rank_ == 0; }

    /// Collective. The same on every rank: nothing, or the error of the lowest rank that has one. One call of
    /// MPI_Allreduce where all is well.
    result<void> agree(const result<void>& mine) const {
        int failed = mine ? size_ : rank_;
        ZTENSOR_TRY(mpi_done(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce"));
        return tell(failed, mine);
    }
    /// Collective. The same of a number that all ranks are to give: nothing where some give others.
    result<optional<uint64_t>> agree_on(const result<uint64_t>& mine) const {
        const uint64_t number = mine.value_or(0);
        uint64_t least[3] = {static_cast<uint64_t>(mine ? size_ : rank_), number, ~number};
        ZTENSOR_TRY(mpi_done(MPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_UINT64_T, MPI_MIN, comm_), "MPI_Allreduce"));
        ZTENSOR_TRY(tell(static_cast<int>(least[0]), mine ? result<void>() : result<void>(mine.error())));
        return least[1] == ~least[2] ? optional<uint64_t>(number) : std::nullopt;
    }
    /// Collective. The same of what a call gave.
    template <class T>
    result<T> agree(result<T> mine) const {
        ZTENSOR_TRY(agree(mine ? result<void>() : result<void>(mine.error())));
        return mine;
    }

    /// Collective. The root's message on every rank, or its error, in two or three calls.
    ZTENSOR_COLD result<vector<byte>> broadcast(result<vector<byte>> of_root) const {
        struct {
            uint64_t size;
            uint64_t is_error;
            error_record record;
        } head = {};
        if (is_root()) {
            head.size = of_root ? of_root->size() : 0;
            head.is_error = of_root ? 0 : 1;
            head.record = of_root ? error_record() : error_record(of_root.error(), rank_);
        }
        ZTENSOR_TRY(mpi_done(MPI_Bcast(&head, sizeof head, MPI_BYTE, 0, comm_), "MPI_Bcast"));
        if (head.is_error != 0) {
            return head.record.get();
        }
        vector<byte> mine = is_root() ? *std::move(of_root) : vector<byte>();
        ZTENSOR_TRY(agree(guard_memory([&]() -> result<void> {
            mine.resize(static_cast<size_t>(head.size));
            return {};
        })));
        ZTENSOR_TRY(broadcast(span<byte>(mine), 0));
        return mine;
    }

    /// Collective. As many bytes on every rank.
    result<void> broadcast(span<byte> bytes, int from) const {
        while (!bytes.empty()) {
            const size_t size = (std::min)(bytes.size(), most_message_bytes);
            ZTENSOR_TRY(mpi_done(MPI_Bcast(bytes.data(), static_cast<int>(size), MPI_BYTE, from, comm_), "MPI_Bcast"));
            bytes = bytes.subspan(size);
        }
        return {};
    }

    /// Collective. What every rank has to say, by rank; unless `is_for_all`, on the root alone. Errors: limit_exceeded
    /// if all take more than 1 GiB; out_of_memory.
    ZTENSOR_COLD result<vector<message>> gather(const vector<byte>& mine, bool is_for_all) const {
        vector<int> sizes;
        vector<int> places;
        ZTENSOR_TRY(agree(guard_memory([&]() -> result<void> {
            sizes.resize(static_cast<size_t>(size_));
            places.resize(static_cast<size_t>(size_));
            return mine.size() <= most_message_bytes ? result<void>() : too_much(mine.size());
        })));
        const int size = static_cast<int>(mine.size());
        ZTENSOR_TRY(mpi_done(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm_), "MPI_Allgather"));
        uint64_t all_bytes = 0;
        for (size_t i = 0; i < sizes.size(); ++i) {
            places[i] = static_cast<int>((std::min<uint64_t>)(all_bytes, most_message_bytes));
            all_bytes += static_cast<uint64_t>(sizes[i]);
        }
        vector<byte> all;
        const bool receives = is_for_all || is_root();
        ZTENSOR_TRY(agree(guard_memory([&]() -> result<void> {
            ZTENSOR_TRY(all_bytes <= most_message_bytes ? result<void>() : too_much(all_bytes));
            all.resize(receives ? static_cast<size_t>(all_bytes) : 0);
            return {};
        })));
        ZTENSOR_TRY(is_for_all ? mpi_done(MPI_Allgatherv(mine.data(), size, MPI_BYTE, all.data(), sizes.data(),
                                                         places.data(), MPI_BYTE, comm_),
                                          "MPI_Allgatherv")
                               : mpi_done(MPI_Gatherv(mine.data(), size, MPI_BYTE, all.data(), sizes.data(),
                                                      places.data(), MPI_BYTE, 0, comm_),
                                          "MPI_Gatherv"));
        vector<message> said;
        ZTENSOR_TRY(agree(guard_memory([&]() -> result<void> {
            for (size_t i = 0; receives && i < sizes.size(); ++i) {
                const auto first = all.begin() + places[i];
                said.emplace_back(vector<byte>(first, first + sizes[i]));
            }
            return {};
        })));
        return said;
    }

    /// Collective. The sum of what each rank gives.
    result<uint64_t> sum(uint64_t mine) const {
        ZTENSOR_TRY(mpi_done(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UINT64_T, MPI_SUM, comm_), "MPI_Allreduce"));
        return mine;
    }
    /// Collective. The same of as many numbers on every rank.
    result<void> sum(vector<uint64_t>& numbers) const {
        return mpi_done(
            MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_SUM, comm_),
            "MPI_Allreduce");
    }
    /// Collective. What each rank gives, of as many numbers, one rank's after the other's.
    result<void> gather(const vector<uint64_t>& mine, vector<uint64_t>& all) const {
        const int size = static_cast<int>(mine.size());
        return mpi_done(MPI_Allgather(mine.data(), size, MPI_UINT64_T, all.data(), size, MPI_UINT64_T, comm_),
                        "MPI_Allgather");
    }

    /// Sends to one rank, which receives as many bytes.
    result<void> send(bytes_view bytes, int to) const {
        for (; !bytes.empty(); bytes = bytes.subspan((std::min)(bytes.size(), most_message_bytes))) {
            const auto size = static_cast<int>((std::min)(bytes.size(), most_message_bytes));
            ZTENSOR_TRY(mpi_done(MPI_Send(bytes.data(), size, MPI_BYTE, to, 0, comm_), "MPI_Send"));
        }
        return {};
    }
    result<void> receive(span<byte> bytes, int from) const {
        for (; !bytes.empty(); bytes = bytes.subspan((std::min)(bytes.size(), most_message_bytes))) {
            const auto size = static_cast<int>((std::min)(bytes.size(), most_message_bytes));
            ZTENSOR_TRY(
                mpi_done(MPI_Recv(bytes.data(), size, MPI_BYTE, from, 0, comm_, MPI_STATUS_IGNORE), "MPI_Recv"));
        }
        return {};
    }

private:
    /// Collective. The error of the rank that failed, on every rank; nothing if that is behind the last one.
    result<void> tell(int failed, const result<void>& mine) const {
        if (failed == size_) {
            return {};
        }
        error_record record = failed == rank_ ? error_record(mine.error(), rank_) : error_record();
        ZTENSOR_TRY(mpi_done(MPI_Bcast(&record, sizeof record, MPI_BYTE, failed, comm_), "MPI_Bcast"));
        return record.get();
    }
    /// Frees what MPI made.
    static result<communicator> owning(MPI_Comm made) {
        ZTENSOR_TRY_ASSIGN(communicator all, of(made));
        all.owned_ = std::shared_ptr<MPI_Comm>(new MPI_Comm(made), [](MPI_Comm* comm) {
            int is_finalized = 1;
            if (MPI_Finalized(&is_finalized) == MPI_SUCCESS && is_finalized == 0) {
                MPI_Comm_free(comm);
            }
            delete comm;
        });
        return all;
    }
    [[nodiscard]] ZTENSOR_COLD static error too_much(uint64_t bytes) {
        return fail(errc::limit_exceeded, "the ranks have {} bytes to say to each other, and 1 GiB is the most",
                    {bytes});
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
    std::shared_ptr<MPI_Comm> owned_; ///< of what was made here
};

// -- datatype

/// A type of MPI that is freed when it goes.
class mpi_type {
public:
    mpi_type() noexcept = default;
    mpi_type(const mpi_type&) = delete;
    mpi_type& operator=(const mpi_type&) = delete;
    ~mpi_type() {
        if (type_ != MPI_DATATYPE_NULL) {
            MPI_Type_free(&type_);
        }
    }

    /// To be made by a call of MPI.
    [[nodiscard]] MPI_Datatype* make() noexcept { return &type_; }
    [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif

// Squall for C++17: a thin layer over squall.h.
//
// What squall.h answers as an error is thrown here as a squall::error. What it has as handles are objects here that free them.
// Values can be copied; machines, ends and sandboxes can be moved. The rules for native threads are those of squall.h.
//
//     squall::machine machine;
//     auto sums = machine.load("sums.ns", "class Sums = Value ()( public of: a and: b = ( ^ a + b ) )").send("new");
//     std::int64_t sum = sums.send("of:and:", 3, 4).integer();

#ifndef SQUALL_HPP
#define SQUALL_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "squall.h"

namespace squall {

// What went wrong.
class error : public std::runtime_error {
public:
    // Takes the error over.
    explicit error(squall_error *raw)
        : std::runtime_error(squall_error_message(raw)), code_(squall_error_code(raw)),
          exception_class_(squall_error_class(raw)), trace_(squall_error_trace(raw)) {
        squall_error_free(raw);
    }

    squall_code code() const noexcept { return code_; }

    // Of an exception that nothing caught: its class, and the activations that led to it, a line each.
    const std::string &exception_class() const noexcept { return exception_class_; }
    const std::string &trace() const noexcept { return trace_; }

private:
    squall_code code_;
    std::string exception_class_;
    std::string trace_;
};

// Throws an error if there is one.
inline void check(squall_error *raw) {
    if (raw != nullptr) throw error(raw);
}

namespace detail {

template <typename Handle, void (*Free)(Handle *)> struct deleter {
    void operator()(Handle *handle) const noexcept { Free(handle); }
};

template <typename Handle, void (*Free)(Handle *)>
using owner = std::unique_ptr<Handle, deleter<Handle, Free>>;

using vm_owner = std::shared_ptr<squall_vm>;

} // namespace detail

// A number, a text, a list, or an object of the machine.
class value {
public:
    value() : value(squall_nil(), nullptr) {}
    value(std::nullptr_t) : value() {}
    value(bool boolean) : value(squall_boolean(boolean), nullptr) {}
    value(double number) : value(squall_double(number), nullptr) {}
    value(std::string_view text) : value() {
        squall_value *made = nullptr;
        check(squall_text(text.data(), text.size(), &made));
        handle_.reset(made);
    }
    value(const char *text) : value(std::string_view(text)) {}
    value(const std::string &text) : value(std::string_view(text)) {}
    template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
    value(Integer integer) : value(squall_integer(static_cast<std::int64_t>(integer)), nullptr) {}
    value(const std::vector<value> &elements) : value() {
        std::vector<const squall_value *> raw;
        for (const value &element : elements) raw.push_back(element.get());
        squall_value *made = nullptr;
        check(squall_list(raw.data(), raw.size(), &made));
        handle_.reset(made);
    }

    // Takes a handle over.
    value(squall_value *handle, detail::vm_owner vm) : vm_(std::move(vm)), handle_(handle) {}

    value(const value &other) : vm_(other.vm_) {
        squall_value *copy = nullptr;
        check(squall_value_copy(other.get(), &copy));
        handle_.reset(copy);
    }
    value(value &&) noexcept = default;
    value &operator=(value other) noexcept {
        std::swap(vm_, other.vm_);
        std::swap(handle_, other.handle_);
        return *this;
    }

    squall_value *get() const noexcept { return handle_.get(); }
    squall_value *release() noexcept { return handle_.release(); }

    squall_kind kind() const noexcept { return squall_value_kind(get()); }
    bool is_nil() const noexcept { return kind() == SQUALL_KIND_NIL; }

    bool boolean() const {
        bool found = false;
        check(squall_value_boolean(get(), &found));
        return found;
    }
    std::int64_t integer() const {
        std::int64_t found = 0;
        check(squall_value_integer(get(), &found));
        return found;
    }
    double number() const {
        double found = 0;
        check(squall_value_double(get(), &found));
        return found;
    }
    std::string text() const {
        const char *bytes = nullptr;
        std::size_t length = 0;
        check(squall_value_text(get(), &bytes, &length));
        return std::string(bytes, length);
    }
    // The elements of a list; of another collection, machine::elements.
    std::vector<value> list() const {
        std::size_t count = 0;
        check(squall_value_count(get(), &count));
        std::vector<value> elements;
        for (std::size_t index = 0; index < count; ++index) {
            squall_value *element = nullptr;
            check(squall_value_element(get(), index, &element));
            elements.emplace_back(element, vm_);
        }
        return elements;
    }

    // Sends a message, and waits for the answer. Of values that a machine has answered.
    template <typename... Arguments> value send(const char *selector, const Arguments &...arguments) const;

private:
    detail::vm_owner vm_;
    detail::owner<squall_value, squall_value_free> handle_;
};

// What can be chosen when a machine starts.
class options {
public:
    options() : handle_(squall_options_new()) {}

    options &max_heap(std::size_t bytes) { return set(squall_options_set_max_heap(get(), bytes)); }
    options &workers(std::uint32_t count) { return set(squall_options_set_workers(get(), count)); }
    options &seed(std::uint64_t seed) { return set(squall_options_set_seed(get(), seed)); }
    options &allow(std::uint32_t authority) { return set(squall_options_allow(get(), authority)); }
    options &budgets(const squall_budgets &budgets) {
        return set(squall_options_set_budgets(get(), &budgets));
    }
    options &argument(const std::string &argument) {
        return set(squall_options_add_argument(get(), argument.c_str()));
    }
    // A folder in which modules are looked for that others import.
    options &module_folder(const std::string &path) {
        return set(squall_options_add_module_folder(get(), path.c_str()));
    }
    // Where standard output and standard error output go: to functions of a text, or nowhere. They throw nothing.
    options &output(std::function<void(std::string_view)> output,
                    std::function<void(std::string_view)> errors = nullptr) {
        sinks_ = std::make_shared<sinks>(sinks{std::move(output), std::move(errors)});
        return set(squall_options_set_output(get(), &write<&sinks::output>, &write<&sinks::errors>,
                                             sinks_.get()));
    }

    squall_options *get() const noexcept { return handle_.get(); }

private:
    friend class machine;

    struct sinks {
        std::function<void(std::string_view)> output;
        std::function<void(std::string_view)> errors;
    };

    template <std::function<void(std::string_view)> sinks::*Sink>
    static void write(void *data, const char *text, std::size_t length) noexcept {
        const auto &sink = static_cast<sinks *>(data)->*Sink;
        if (sink) sink(std::string_view(text, length));
    }

    options &set(squall_error *raw) {
        check(raw);
        return *this;
    }

    detail::owner<squall_options, squall_options_free> handle_;
    std::shared_ptr<sinks> sinks_;
};

// The end of a channel to read from.
class reader {
public:
    reader(squall_reader *handle, detail::vm_owner vm) : vm_(std::move(vm)), handle_(handle) {}

    value read() {
        squall_value *found = nullptr;
        check(squall_reader_read(handle_.get(), &found));
        return value(found, vm_);
    }
    // Nothing if there was nothing to read in that time.
    std::optional<value> read_within(std::chrono::duration<double, std::milli> patience) {
        squall_value *found = nullptr;
        check(squall_reader_read_within(handle_.get(), patience.count(), &found));
        if (found == nullptr) return std::nullopt;
        return value(found, vm_);
    }
    void poison() { check(squall_reader_poison(handle_.get())); }

private:
    detail::vm_owner vm_;
    detail::owner<squall_reader, squall_reader_free> handle_;
};

// The end of a channel to write to.
class writer {
public:
    writer(squall_writer *handle, detail::vm_owner vm) : vm_(std::move(vm)), handle_(handle) {}

    // Waits until the value is read, or the channel's buffer has room for it.
    void write(const value &value) { check(squall_writer_write(handle_.get(), value.get())); }
    void poison() { check(squall_writer_poison(handle_.get())); }

private:
    detail::vm_owner vm_;
    detail::owner<squall_writer, squall_writer_free> handle_;
};

// A sandbox: what its actors do, and all that they start, has budgets.
class sandbox {
public:
    sandbox(squall_sandbox *handle, detail::vm_owner vm) : vm_(std::move(vm)), handle_(handle) {}

    // An actor in the sandbox, whose root object is the value, such as the class of a module.
    value actor(const value &root) {
        squall_value *found = nullptr;
        check(squall_sandbox_actor(handle_.get(), root.get(), &found));
        return value(found, vm_);
    }
    // What machine::load would answer, in an actor of the sandbox. A module of bytecode that imports what the sandbox is not
    // granted is an error.
    value load(const char *path, std::string_view bytes, squall_format format = SQUALL_FORMAT_NEWSPEAK) {
        squall_value *found = nullptr;
        check(squall_sandbox_load(handle_.get(), path, format, bytes.data(), bytes.size(), &found));
        return value(found, vm_);
    }
    void terminate() { check(squall_sandbox_terminate(handle_.get())); }
    squall_reason reason() const {
        squall_reason found = SQUALL_REASON_LIVE;
        check(squall_sandbox_reason(handle_.get(), &found));
        return found;
    }
    std::string report() const {
        squall_value *found = nullptr;
        check(squall_sandbox_report(handle_.get(), &found));
        return value(found, vm_).text();
    }
    squall_budgets usage() const {
        squall_budgets found{};
        check(squall_sandbox_usage(handle_.get(), &found));
        return found;
    }

private:
    detail::vm_owner vm_;
    detail::owner<squall_sandbox, squall_sandbox_free> handle_;
};

// As much as one likes of everything, to be limited.
inline squall_budgets unlimited() {
    return {SQUALL_UNLIMITED, SQUALL_UNLIMITED, SQUALL_UNLIMITED, SQUALL_UNLIMITED,
            SQUALL_UNLIMITED};
}

namespace detail {

// How a type of C++ is called in the assembly language, and how values become it.
template <typename Type, typename = void> struct as_typed;

template <> struct as_typed<void> {
    static constexpr const char *name = "any";
};
template <> struct as_typed<value> {
    static constexpr const char *name = "any";
    static value of(const value &found) { return found; }
};
template <> struct as_typed<bool> {
    static constexpr const char *name = "bool";
    static bool of(const value &found) { return found.boolean(); }
};
template <> struct as_typed<float> {
    static constexpr const char *name = "f32";
    static float of(const value &found) { return static_cast<float>(found.number()); }
};
template <> struct as_typed<double> {
    static constexpr const char *name = "f64";
    static double of(const value &found) { return found.number(); }
};
template <typename Integer>
struct as_typed<Integer, std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>>> {
    static_assert(sizeof(Integer) < 8 || std::is_signed_v<Integer>, "a value holds integers of 64 signed bits");
    static constexpr const char *name = sizeof(Integer) == 1   ? (std::is_signed_v<Integer> ? "i8" : "u8")
                                        : sizeof(Integer) == 2 ? (std::is_signed_v<Integer> ? "i16" : "u16")
                                        : sizeof(Integer) == 4 ? (std::is_signed_v<Integer> ? "i32" : "u32")
                                                               : "i64";
    static Integer of(const value &found) { return static_cast<Integer>(found.integer()); }
};

} // namespace detail

// A function for guest code. What it throws is a HostError there.
using function = std::function<value(const std::vector<value> &)>;

// Functions that modules of bytecode import by name, version and type, from `host:…`.
class host_module {
public:
    host_module(std::string name, std::string version) : name_(std::move(name)), version_(std::move(version)) {}

    // A function whose types are those of the assembly language, such as `list<i64>`; `any` for no result.
    host_module &add(std::string name, std::vector<std::string> parameters, std::string result, function called) {
        functions_.push_back({std::move(name), std::move(parameters), std::move(result), std::move(called)});
        return *this;
    }

    // A function that has its types already: of Booleans, numbers, and values, which are `any`.
    template <typename Function> host_module &add(std::string name, Function called) {
        return add_typed(std::move(name), std::function(std::move(called)));
    }

private:
    friend class machine;

    struct entry {
        std::string name;
        std::vector<std::string> parameters;
        std::string result;
        function called;
    };

    template <typename Result, typename... Arguments>
    host_module &add_typed(std::string name, std::function<Result(Arguments...)> called) {
        return add(std::move(name), {detail::as_typed<std::decay_t<Arguments>>::name...},
                   detail::as_typed<Result>::name, [called = std::move(called)](const std::vector<value> &of) {
                       return apply(called, of, std::index_sequence_for<Arguments...>());
                   });
    }

    template <typename Result, typename... Arguments, std::size_t... Indices>
    static value apply(const std::function<Result(Arguments...)> &called, const std::vector<value> &of,
                       std::index_sequence<Indices...>) {
        (void)of;
        if constexpr (std::is_void_v<Result>) {
            called(detail::as_typed<std::decay_t<Arguments>>::of(of.at(Indices))...);
            return value();
        } else {
            return value(called(detail::as_typed<std::decay_t<Arguments>>::of(of.at(Indices))...));
        }
    }

    std::string name_;
    std::string version_;
    std::vector<entry> functions_;
};

// The machine of this process. It ends with this object.
class machine {
public:
    using function = squall::function;

    explicit machine(const options &options = {}) : sinks_(options.sinks_) {
        squall_vm *started = nullptr;
        check(squall_start(options.get(), &started));
        vm_ = detail::vm_owner(started, squall_vm_free);
    }
    machine(machine &&) = default;
    ~machine() {
        // Nothing of this object's is called afterwards.
        if (vm_) squall_error_free(squall_end(vm_.get(), 0, nullptr));
    }

    value platform() const {
        squall_value *found = nullptr;
        check(squall_platform(vm_.get(), &found));
        return value(found, vm_);
    }
    value load(const char *path, std::string_view bytes, squall_format format = SQUALL_FORMAT_NEWSPEAK) {
        squall_value *found = nullptr;
        check(squall_load(vm_.get(), path, format, bytes.data(), bytes.size(), &found));
        return value(found, vm_);
    }
    // What a module of bytecode without a class exports under the name.
    template <typename... Arguments>
    value call_export(const value &module, const char *name, const Arguments &...arguments) {
        const std::vector<value> held{value(arguments)...};
        std::vector<const squall_value *> raw;
        for (const value &argument : held) raw.push_back(argument.get());
        squall_value *found = nullptr;
        check(squall_call_export(vm_.get(), module.get(), name, raw.data(), raw.size(), &found));
        return value(found, vm_);
    }
    value wait_for(const value &promise) {
        squall_value *found = nullptr;
        check(squall_wait_for(vm_.get(), promise.get(), &found));
        return value(found, vm_);
    }
    std::string describe(const value &object) {
        squall_value *found = nullptr;
        check(squall_describe(vm_.get(), object.get(), &found));
        return value(found, vm_).text();
    }
    std::vector<value> elements(const value &collection) {
        squall_value *found = nullptr;
        check(squall_elements(vm_.get(), collection.get(), &found));
        return value(found, vm_).list();
    }
    void provide(const char *name, const value &provided) {
        check(squall_provide(vm_.get(), name, provided.get()));
    }
    void on(const char *name, function called) {
        check(squall_register(vm_.get(), name, &call, keep(std::move(called))));
    }
    // Modules of bytecode that are loaded from now on import this one.
    void register_module(host_module module) {
        std::vector<std::vector<const char *>> parameters;
        std::vector<squall_host_function> raw;
        for (host_module::entry &entry : module.functions_) {
            parameters.emplace_back();
            for (const std::string &parameter : entry.parameters) parameters.back().push_back(parameter.c_str());
        }
        for (std::size_t index = 0; index < module.functions_.size(); ++index) {
            host_module::entry &entry = module.functions_[index];
            raw.push_back({entry.name.c_str(), parameters[index].data(), parameters[index].size(),
                           entry.result.c_str(), &call, keep(std::move(entry.called))});
        }
        check(squall_register_module(vm_.get(), module.name_.c_str(), module.version_.c_str(), raw.data(),
                                     raw.size()));
    }

    // A channel to guest code: the end for this side, and the one to be given to guest code.
    std::pair<writer, value> channel_to_guest(std::size_t capacity = 0) {
        squall_writer *native = nullptr;
        squall_value *end = nullptr;
        check(squall_channel_to_guest(vm_.get(), capacity, &native, &end));
        return {writer(native, vm_), value(end, vm_)};
    }
    // A channel from guest code: the end for this side, and the one to be given to guest code.
    std::pair<reader, value> channel_from_guest(std::size_t capacity = 0) {
        squall_reader *native = nullptr;
        squall_value *end = nullptr;
        check(squall_channel_from_guest(vm_.get(), capacity, &native, &end));
        return {reader(native, vm_), value(end, vm_)};
    }

    // What it does to the world needs a grant: of modules, by their names.
    squall::sandbox make_sandbox(const char *name, const squall_budgets &budgets,
                                 const std::vector<std::string> &granted = {}) {
        std::vector<const char *> raw;
        for (const std::string &module : granted) raw.push_back(module.c_str());
        squall_sandbox *made = nullptr;
        check(squall_sandbox_new(vm_.get(), name, &budgets, raw.data(), raw.size(), &made));
        return squall::sandbox(made, vm_);
    }

    // Ends the machine; answers the exit code.
    int end(int code = 0) {
        std::int32_t found = 0;
        check(squall_end(vm_.get(), code, &found));
        return found;
    }

private:
    struct native {
        function called;
        squall_vm *vm;
    };

    native *keep(function called) {
        functions_.push_back(std::make_unique<native>(native{std::move(called), vm_.get()}));
        return functions_.back().get();
    }

    // No exception of C++ leaves this.
    static squall_value *call(void *data, const squall_value *const *raw, std::size_t count,
                              squall_error **failure) noexcept {
        try {
            const auto *called = static_cast<native *>(data);
            // The machine outlives the call, so the arguments need not keep it.
            detail::vm_owner vm(called->vm, [](squall_vm *) {});
            std::vector<value> arguments;
            for (std::size_t index = 0; index < count; ++index) {
                squall_value *copy = nullptr;
                check(squall_value_copy(raw[index], &copy));
                arguments.emplace_back(copy, vm);
            }
            return called->called(arguments).release();
        } catch (const std::exception &problem) {
            *failure = squall_error_new(problem.what());
        } catch (...) {
            *failure = squall_error_new("the function has thrown what is no std::exception");
        }
        return nullptr;
    }

    std::shared_ptr<options::sinks> sinks_;
    std::vector<std::unique_ptr<native>> functions_;
    detail::vm_owner vm_;
};

template <typename... Arguments>
value value::send(const char *selector, const Arguments &...arguments) const {
    const std::vector<value> held{value(arguments)...};
    std::vector<const squall_value *> raw;
    for (const value &argument : held) raw.push_back(argument.get());
    squall_value *found = nullptr;
    check(squall_call(vm_.get(), get(), selector, raw.data(), raw.size(), &found));
    return value(found, vm_);
}

} // namespace squall

#endif

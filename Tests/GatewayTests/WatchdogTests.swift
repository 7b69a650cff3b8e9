import System
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(10)))
struct WatchdogTests {
    private let directory: TemporaryDirectory
    private let manager: NewsReceiver
    private let watchdog: Watchdog
    private let journal = JournalRecorder()
    private let clock: WakeUp

    init() throws {
        directory = TemporaryDirectory()
        clock = try WakeUp()
        manager = try NewsReceiver("\(directory.path)/notify")
        let told = ["NOTIFY_SOCKET": "\(directory.path)/notify", "WATCHDOG_USEC": "40000"]
        watchdog = Watchdog(ServiceManager(told), journal.journal)
    }

    /// Looks once the pause since the last look is over.
    private func look(at threads: WatchedThread...) {
        clock.wait(timeout: watchdog.pause)
        watchdog.look(at: threads)
    }

    @Test("The manager is told while all threads call back")
    func alive() throws {
        for _ in 0..<3 {
            look(at: WatchedThread(name: "http-0") { $0() }, WatchedThread(name: "queue") { $0() })
            #expect(manager.waiting == "WATCHDOG=1")
        }
        #expect(journal.lines.now.isEmpty)
    }

    @Test("It is not told while a thread does not call back, and the journal names the thread once")
    func stuck() throws {
        let calls = Locked<[@Sendable () -> Void]>([])
        let stuck = WatchedThread(name: "delivery") { call in calls.withLock { $0.append(call) } }
        look(at: WatchedThread(name: "http-0") { $0() }, stuck)
        #expect(manager.waiting == "WATCHDOG=1")
        for _ in 0..<3 {
            look(at: WatchedThread(name: "http-0") { $0() }, stuck)
            #expect(manager.waiting == nil)
        }
        // A thread that is stuck is not asked again and again.
        #expect(calls.withLock(\.count) == 1)
        #expect(journal.lines(containing: "delivery").count == 1)
        calls.withLock { $0.removeFirst() }()
        look(at: stuck)
        #expect(manager.waiting == "WATCHDOG=1")
    }

    @Test("Threads that are slow in turn do not keep the manager from being told")
    func slowInTurn() throws {
        let calls = Locked<[String: @Sendable () -> Void]>([:])
        let threads = ["http-0", "queue"].map { name in
            WatchedThread(name: name) { call in calls.withLock { $0[name] = call } }
        }
        func call(_ name: String) { calls.withLock { $0.removeValue(forKey: name) }?() }
        func look() -> String? {
            clock.wait(timeout: watchdog.pause)
            watchdog.look(at: threads)
            return manager.waiting
        }
        #expect(look() == "WATCHDOG=1")
        call("queue")
        #expect(look() == nil)
        call("http-0")
        // The queue is not asked meanwhile, so it cannot be late.
        #expect(look() == "WATCHDOG=1")
    }

    @Test("Nobody is asked without a watchdog, nor before the pause is over")
    func quiet() throws {
        let never = WatchedThread(name: "queue") { _ in Issue.record("it was asked") }
        Watchdog(ServiceManager([:]), .silent).look(at: [never])
        look(at: WatchedThread(name: "http-0") { $0() })
        let told = ["NOTIFY_SOCKET": "\(directory.path)/notify", "WATCHDOG_USEC": "86400000000"]
        let patient = Watchdog(ServiceManager(told), .silent)
        patient.look(at: [])
        patient.look(at: [never])
    }
}

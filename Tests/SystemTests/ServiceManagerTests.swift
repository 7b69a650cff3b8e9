import Glibc
import TestSupport
import Testing

@testable import System

@Suite struct ServiceManagerTests {
    @Test(
        "News arrive in one message, by a path and by an abstract name",
        arguments: [true, false]
    )
    func tells(byPath: Bool) throws {
        let directory = TemporaryDirectory()
        let name = byPath ? "\(directory.path)/notify" : "@sluice-test-\(getpid())"
        let receiver = try NewsReceiver(name)
        let manager = ServiceManager(["NOTIFY_SOCKET": name])
        #expect(manager.tell(.ready, .status("devices: [::]:8080")))
        #expect(receiver.next() == "READY=1\nSTATUS=devices: [::]:8080")
        manager.tell(.reloading)
        let lines = receiver.next().split(separator: "\n")
        #expect(lines.first == "RELOADING=1")
        #expect(lines.last?.hasPrefix("MONOTONIC_USEC=") == true)
        manager.tell(.stopping)
        #expect(receiver.next() == "STOPPING=1")
        manager.tell(.alive)
        #expect(receiver.next() == "WATCHDOG=1")
    }

    @Test("Without a manager nothing is told, and one that is gone is noticed")
    func noManager() {
        #expect(ServiceManager([:]).tell(.ready))
        #expect(ServiceManager(["NOTIFY_SOCKET": ""]).tell(.ready))
        #expect(!ServiceManager(["NOTIFY_SOCKET": "/nowhere/notify"]).tell(.ready))
        let long = String(repeating: "x", count: 200)
        #expect(!ServiceManager(["NOTIFY_SOCKET": long]).tell(.ready))
    }

    @Test("The watchdog is for the process that it names")
    func watchdog() {
        func time(_ more: [String: String]) -> Duration? {
            ServiceManager(["NOTIFY_SOCKET": "@x"].merging(more) { $1 }).watchdogTime
        }
        #expect(time(["WATCHDOG_USEC": "2000000"]) == .seconds(2))
        #expect(time(["WATCHDOG_USEC": "5", "WATCHDOG_PID": "\(getpid())"]) == .microseconds(5))
        #expect(time(["WATCHDOG_USEC": "5", "WATCHDOG_PID": "1"]) == nil)
        #expect(time(["WATCHDOG_USEC": "x"]) == nil && time([:]) == nil)
        #expect(ServiceManager(["WATCHDOG_USEC": "5"]).watchdogTime == nil)
    }
}

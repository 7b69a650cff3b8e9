import Foundation

/// Where a started program can be reached.
struct Listeners {
    let devices: UInt16
    let admin: UInt16
}

extension Program {
    /// Waits until both listeners are open; nil when the program ended instead.
    func listeners() -> Listeners? {
        guard let line = errors.next(containing: ["sluice is ready"]),
            let devices = Self.port(of: "devices", in: line),
            let admin = Self.port(of: "admin", in: line)
        else { return nil }
        return Listeners(devices: devices, admin: admin)
    }

    /// The port of the address that a line of the journal carries under a name.
    static func port(of name: String, in line: String) -> UInt16? {
        guard let field = line.range(of: "\"\(name)\":\"") else { return nil }
        let address = line[field.upperBound...].prefix { $0 != "\"" }
        return address.split(separator: ":").last.flatMap { UInt16($0) }
    }
}

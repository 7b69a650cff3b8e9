/// The services of a request, each with its group of logs. Filters and routes match a service's
/// name.
struct OTLPServices {
    /// Records of further services are without a service.
    private static let servicesMax = 1024

    private var present: [UInt8] = []
    private var groups: [[UInt8]: Int] = [:]

    func isPresent(_ service: UnsafeBufferPointer<UInt8>) -> Bool {
        present.elementsEqual(service)
    }

    /// The next records are those of this service.
    mutating func start(_ service: UnsafeBufferPointer<UInt8>) {
        let name = Array(service)
        present = groups.count < Self.servicesMax || groups[name] != nil ? name : []
    }

    var name: String? {
        present.isEmpty ? nil : String(decoding: present, as: UTF8.self)
    }

    /// The group that already has records of this service; nil makes `number` that group.
    mutating func group(orNew number: Int) -> Int? {
        if let known = groups[present] { return known }
        groups[present] = number
        return nil
    }
}

import Ingest

extension MetricsPage {
    /// What addresses may send, where that is bounded.
    mutating func addresses(_ counts: AddressBook.Counts, most: Int) {
        family(
            "sluice_device_address_refused_total",
            .counter,
            "Requests beyond the budget of their address."
        ) {
            $0.add(counts.refusedRate, ["reason": "rate"])
            $0.add(counts.refusedBytes, ["reason": "bytes"])
        }
        family(
            "sluice_device_address_shared_total",
            .counter,
            "Times that addresses shared a budget, because too many others are remembered."
        ) { $0.add(counts.shared) }
        family("sluice_device_addresses", .gauge, "Addresses whose use is remembered.") {
            $0.add(counts.addresses)
        }
        family("sluice_device_addresses_max", .gauge, "Addresses that may be remembered.") {
            $0.add(most)
        }
    }
}

import Testing

@testable import Net

@Suite struct AddressRangeTests {
    @Test(
        "An IP address is parsed exactly",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:DB8:0::1", "2001:db8::1"), ("::1", "::1"), ("0.0.0.0", "0.0.0.0"),
            ("::", "::"), ("1.2.3", nil), ("1.2.3.4.5", nil), ("01.2.3.4", nil),
            ("256.1.1.1", nil), ("1.2.3.4:80", nil), ("[::1]", nil), ("fe80::1%eth0", nil),
            (" 1.2.3.4", nil), ("1.2.3.4 ", nil), ("1.2.3.4\0", nil), ("", nil), ("localhost", nil),
            ("1::2::3", nil), ("12345::", nil), (":", nil), ("0x7f.0.0.1", nil),
            (String(repeating: "0:", count: 40), nil),
        ]
    )
    func addresses(text: String, expected: String?) {
        #expect(IPAddress(text)?.description == expected)
    }

    @Test(
        "A range contains the addresses with its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("10.0.0.0/8", "a00::", false),
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.200", true),
            ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true), ("::/0", "1.2.3.4", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("2001:db8::/64", "2001:db8::ffff:0:0:1", true),
            ("2001:db8::/127", "2001:db8::1", true), ("2001:db8::/127", "2001:db8::2", false),
            ("::1", "::1", true), ("::1/128", "::2", false),
            ("::ffff:10.0.0.0/104", "10.1.1.1", true),
        ]
    )
    func ranges(range: String, address: String, isWithin: Bool) throws {
        let range = try AddressRange(parsing: range)
        #expect(range.contains(try #require(IPAddress(address))) == isWithin)
    }

    @Test("A range is printed as it was parsed")
    func written() throws {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/33", "::/0", "::/96"] {
            #expect(try AddressRange(parsing: text).description == text)
        }
        #expect(try AddressRange(parsing: "192.0.2.1").description == "192.0.2.1/32")
    }

    @Test(
        "A malformed range is refused with the correct form",
        arguments: [
            ("10.0.0.1/8", "write 10.0.0.0/8"), ("2001:db8::1/32", "write 2001:db8::/32"),
            ("10.0.0.0/33", "0 to 32 bits"), ("::/129", "0 to 128 bits"), ("10.0.0.0/", "bits"),
            ("10.0.0.0/+8", "bits"), ("10.0.0.0/8/8", "bits"), ("10/8", "such as 10.0.0.0/8"),
            ("", "such as 10.0.0.0/8"), ("proxy.example.com", "such as 10.0.0.0/8"),
        ]
    )
    func mistakes(text: String, remedy: String) {
        let error = #expect(throws: AddressRangeError.self) { try AddressRange(parsing: text) }
        #expect(error?.description.contains(remedy) == true, "\(error?.description ?? "")")
    }
}

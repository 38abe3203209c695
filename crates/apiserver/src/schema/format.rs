//! The formats that text can be asked to have. Formats that nobody knows ask for nothing.

mod number;
mod text;
mod time;
mod web;

use super::{Schema, Shape};

/// Whether a format means anything for a shape. A definition with another one is accepted, with a warning.
pub(crate) fn is_known(schema: &Schema, format: &str) -> bool {
    match schema.shape {
        Shape::Integer => matches!(format, "int32" | "int64"),
        Shape::Number => matches!(format, "float" | "double"),
        Shape::String | Shape::Any | Shape::IntOrString => check(format).is_some(),
        Shape::Object(_) | Shape::Array(_) => schema.is_untyped && check(format).is_some(),
        Shape::Boolean => false,
    }
}

type Check = fn(&str) -> bool;

/// The check for a format; dashes in its name do not count.
pub(super) fn check(format: &str) -> Option<Check> {
    let check: Check = match format.replace('-', "").as_str() {
        "bsonobjectid" => text::is_object_id,
        "uri" => web::is_uri,
        "email" => web::is_email,
        "hostname" => web::is_hostname,
        "ipv4" => web::is_ipv4,
        "ipv6" => web::is_ipv6,
        "cidr" => web::is_cidr,
        "mac" => web::is_mac,
        "uuid" => text::is_uuid,
        "uuid3" => text::is_uuid3,
        "uuid4" => text::is_uuid4,
        "uuid5" => text::is_uuid5,
        "isbn" => |text| number::is_isbn10(text) || number::is_isbn13(text),
        "isbn10" => number::is_isbn10,
        "isbn13" => number::is_isbn13,
        "creditcard" => number::is_credit_card,
        "ssn" => number::is_social_security_number,
        "hexcolor" => text::is_hex_color,
        "rgbcolor" => text::is_rgb_color,
        "byte" => text::is_base64,
        "password" => |_| true,
        "date" => time::is_date,
        "duration" => time::is_duration,
        "datetime" => time::is_date_time,
        "k8sshortname" => text::is_short_name,
        "k8slongname" => text::is_long_name,
        _ => return None,
    };
    Some(check)
}

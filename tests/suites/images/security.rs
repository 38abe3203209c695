//! Registries that want to know who asks, and show who they are.

use anyhow::Result;
use asb_node::images::pull::Class;
use asb_node::images::registry::{Registry, Security};

use crate::image::{Image, archive};
use crate::issuer::{IDENTITY, Issuer};
use crate::push::{self, Door};
use crate::server::{Guard, PASSWORD, Server, USER};
use crate::shelf::{Shelf, registry};

fn image() -> Result<Image> {
    Image::of(&[archive(&[("secret", b"of alice")])?])
}

#[tokio::test]
async fn a_private_image_is_for_those_who_know_the_password() -> Result<()> {
    let server = Server::start(Guard::Password)?;
    push::image(&server.address, "private/app", "1", &image()?).await?;
    let reference = format!("{}/private/app:1", server.address);
    assert_eq!(Shelf::plain()?.class(&reference).await, Class::Unauthorized);
    let wrong = Shelf::plain()?.with_password(&server.address, USER, "wrong")?;
    assert_eq!(wrong.class(&reference).await, Class::Unauthorized);
    let right = Shelf::plain()?.with_password(&server.address, USER, PASSWORD)?;
    right.pull(&reference).await?;
    assert_eq!(right.read(&reference, 0, "secret").await?, b"of alice");
    Ok(())
}

#[tokio::test]
async fn the_first_password_that_is_right_is_taken() -> Result<()> {
    let server = Server::start(Guard::Password)?;
    push::image(&server.address, "private/app", "1", &image()?).await?;
    let closer = format!("{}/private", server.address);
    let shelf = Shelf::plain()?.with_password(&closer, USER, "wrong")?;
    let shelf = shelf.with_password(&server.address, USER, PASSWORD)?;
    shelf.pull(&format!("{}/private/app:1", server.address)).await?;
    Ok(())
}

#[tokio::test]
async fn tokens_are_had_for_a_password_or_for_an_identity_token() -> Result<()> {
    let issuer = Issuer::start().await?;
    let server = Server::start(Guard::Token(&issuer))?;
    let authorization = format!("Bearer {}", issuer.token("private/app")?);
    let door = Door { address: &server.address, authorization: &authorization };
    push::through(door, "private/app", "1", &image()?).await?;
    let reference = format!("{}/private/app:1", server.address);
    assert_eq!(Shelf::plain()?.class(&reference).await, Class::Unauthorized);
    let password = Shelf::plain()?.with_password(&server.address, USER, PASSWORD)?;
    password.pull(&reference).await?;
    assert_eq!(password.read(&reference, 0, "secret").await?, b"of alice");
    Shelf::plain()?.with_password(&server.address, "<token>", IDENTITY)?.pull(&reference).await?;
    let wrong = Shelf::plain()?.with_password(&server.address, "<token>", "stolen")?;
    assert_eq!(wrong.class(&reference).await, Class::Unauthorized);
    Ok(())
}

#[tokio::test]
async fn a_certificate_must_be_trusted() -> Result<()> {
    let server = Server::start(Guard::Certificate)?;
    let reference = format!("{}/private/app:1", server.address);
    let with = |security, authorities| {
        let settings = Registry { security: Some(security), authorities, ..Registry::default() };
        Shelf::new(registry(&server.address, settings))
    };
    let error = with(Security::Verified, None)?.pull(&reference).await.expect_err("a stranger");
    assert_eq!(error.class(), Class::Unreachable);
    assert!(error.to_string().contains("certificate"), "{error}");
    // What is asked for is not there; that it is said at all shows that the registry was believed.
    assert_eq!(with(Security::Verified, Some(server.authority()))?.class(&reference).await, Class::NotFound);
    assert_eq!(with(Security::Unverified, None)?.class(&reference).await, Class::NotFound);
    Ok(())
}
